"""Which chat model a child uses, and what a failure of it is told as.

A child's model is never replaced silently: what is named and not there is a failure. Fall-backs
are those that the bot's owner configured for its main agent.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from astrbot.api import logger
from astrbot.api.provider import Provider
from astrbot.api.star import Context
from astrbot.core.utils.llm_metadata import LLM_METADATAS

from ..manager.host import AgentRequest
from ..manager.models import Failure
from .child_event import handle_of
from .host_settings import AgentSettings
from .shared_answers import SharedAnswers

type ProvidersOfChats = SharedAnswers[str, object]
"""The chat models that chats use now, by session."""

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai)[-_][\w*.-]{8,}|\bAIza[\w-]{10,}|\bBearer\s+[\w.~+/=-]+",
    re.IGNORECASE,
)
_SECRET_LENGTH = 6
"""A key that is shorter is a placeholder, and may be part of any word."""

_WORDS = 1000
"""Characters of a provider's own words that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildProvider:
    """The chat model of one child."""

    provider: Provider
    override: str | None = None
    """The model that the user of the WebUI's chat picked for this turn."""
    fallbacks: tuple[Provider, ...] = ()

    @property
    def provider_id(self) -> str:
        """AstrBot's id of the provider."""
        return provider_id(self.provider)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.override or str(self.provider.get_model() or "")

    @property
    def takes_tools(self) -> bool:
        """Whether AstrBot sends tools to this model; it goes by the provider's settings."""
        modalities = self.provider.provider_config.get("modalities")
        return not modalities or "tool_use" in modalities


async def find_provider(
    request: AgentRequest, context: Context, settings: AgentSettings, *, of_chats: ProvidersOfChats
) -> ChildProvider | Failure:
    """Find a child's model and its fall-backs, or say why there is none.

    Args:
        request: The child.
        context: AstrBot's context for plugins.
        settings: AstrBot's settings for agents in the child's chat.
        of_chats: Shared with all children of the bot.
    """
    override = None
    fork = request.fork
    if fork is not None and fork.provider_id:
        provider, override = context.get_provider_by_id(fork.provider_id), fork.model or None
    elif request.provider_id:
        provider = context.get_provider_by_id(request.provider_id)
    else:
        provider, override = await _of_chat(request, context, of_chats)
    if not isinstance(provider, Provider):
        named = fork.provider_id if fork is not None else request.provider_id
        return _unavailable(named or (request.origin.provider_id if request.turn is None else ""))
    return ChildProvider(
        provider=provider,
        override=override,
        fallbacks=tuple(_fallbacks(provider, context, settings)),
    )


def find_compressor(
    child: ChildProvider, context: Context, settings: AgentSettings
) -> Provider | None:
    """The model that sums up old messages; None: they are dropped instead."""
    if not settings.llm_compress:
        return None
    if settings.compress_provider_id:
        provider = context.get_provider_by_id(settings.compress_provider_id)
        if isinstance(provider, Provider):
            return provider
    return child.provider


def context_window(child: ChildProvider, settings: AgentSettings) -> int:
    """How many tokens a child's model takes; AstrBot sees to it for its main agent only."""
    configured = child.provider.provider_config.get("max_context_tokens", 0)
    if isinstance(configured, int) and configured > 0:
        return configured
    known = LLM_METADATAS.get(child.model)
    return int(known["limit"]["context"]) if known else settings.fallback_context_tokens


def provider_failure(used: Provider, child: ChildProvider, words: str) -> Failure:
    """A failure in the provider's own words, without secrets.

    Args:
        used: The provider that was asked last.
        child: What the child was given.
        words: As AstrBot gives them on.
    """
    model = child.model if used is child.provider else used.get_model()
    told = _without_secrets(words, (child.provider, *child.fallbacks))[:_WORDS]
    name = provider_id(used)
    return Failure(
        code="provider_error",
        message=f"The model {model!r} of provider {name!r} failed: {told or 'no reason given'}",
    )


def provider_id(provider: Provider) -> str:
    """AstrBot's id of a provider."""
    return str(provider.provider_config.get("id", ""))


async def _of_chat(
    request: AgentRequest, context: Context, of_chats: ProvidersOfChats
) -> tuple[object, str | None]:
    handle, session, origin = handle_of(request), request.session, request.origin
    if handle is None and origin.provider_id:
        # where work is shared, whoever executes it goes by what its home has told
        return context.get_provider_by_id(origin.provider_id), origin.model or None
    if handle is None:
        return await of_chats.ask(session, lambda: current_provider(session, context)), None
    # As `_select_provider` in AstrBot's core/astr_main_agent.py: the chat of its WebUI lets the
    # user pick a model for each message.
    main = handle.provider_request
    model = main.model if main is not None else handle.event.get_extra("selected_model")
    picked = handle.event.get_extra("selected_provider")
    if picked:
        return context.get_provider_by_id(picked), model or None
    return await of_chats.ask(session, lambda: current_provider(session, context)), model or None


async def current_provider(session: str, context: Context) -> object:
    """The chat model that a chat uses now; None when there is none that can be used."""
    # 4.29 finds it asynchronously and calls the older way deprecated; 4.26 has only that
    find = getattr(context, "get_using_provider_async", None)
    try:
        return await find(session) if find else context.get_using_provider(session)
    except ValueError:
        logger.exception("The chat model of %s cannot be used", session)
        return None


def had_no_output(words: str) -> bool:
    """Whether AstrBot's words for a failure say that the model's answer held nothing to use."""
    return "EmptyModelOutputError" in words


def _unavailable(wanted: str) -> Failure:
    if wanted:
        text = (
            f"The provider {wanted!r} does not exist or is disabled. Use another provider_id, or "
            "enable it in AstrBot's WebUI."
        )
    else:
        text = "This chat has no chat model. Choose one in AstrBot's WebUI."
    return Failure(code="provider_unavailable", message=text)


def _fallbacks(provider: Provider, context: Context, settings: AgentSettings) -> Iterable[Provider]:
    for fallback_id in dict.fromkeys(settings.fallback_provider_ids):
        fallback = context.get_provider_by_id(fallback_id)
        if isinstance(fallback, Provider) and fallback is not provider:
            yield fallback


def _without_secrets(words: str, providers: Iterable[Any]) -> str:
    for provider in providers:
        for key in provider.get_keys():
            if len(str(key)) >= _SECRET_LENGTH:
                words = words.replace(str(key), "***")
    return _SECRETS.sub("***", words)
