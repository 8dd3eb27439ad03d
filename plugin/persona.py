"""Personas of the bot: which one a turn runs with, and what one is now.

A child that outlives its turn is held to the turn's persona; a static sub-agent may have one.
"""

from typing import Any

from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Context

from ..manager.models import MessageBody, Persona

_NO_PERSONAS = frozenset({"[%None]", "_chatui_default_"})
"""What AstrBot calls a chat without a persona, and the WebUI chat's built-in one."""

_DEFAULT = "default"
"""AstrBot's built-in persona, which 4.26 does not list."""


async def selected_persona(
    context: Context, event: AstrMessageEvent, request: ProviderRequest
) -> str:
    """Return the id of the persona as AstrBot chose it for this request; "" when there is none."""
    if request.conversation is None:
        return ""
    config = context.get_config(umo=event.unified_msg_origin)
    # As `_ensure_persona_and_skills` in AstrBot's core/astr_main_agent.py asks for it.
    chosen, *_ = await context.persona_manager.resolve_selected_persona(
        umo=event.unified_msg_origin,
        conversation_persona_id=request.conversation.persona_id,
        platform_name=event.get_platform_name(),
        provider_settings=config.get("provider_settings", {}),
    )
    return "" if chosen is None or chosen in _NO_PERSONAS else str(chosen)


def find_persona(context: Context, persona_id: str) -> Persona | None:
    """Return a persona as it is now, "default" included; None when there is none of that id."""
    found = context.persona_manager.get_persona_v3_by_id(persona_id)
    if found is None:
        return None
    return Persona(
        instructions=str(found.get("prompt") or "").strip(),
        dialogue=tuple(_message(each) for each in found.get("_begin_dialogs_processed") or ()),
        tools=_names(found.get("tools")),
        skills=_names(found.get("skills")),
    )


def persona_ids(context: Context) -> frozenset[str]:
    """Ids of all personas of the bot; "default" is always one."""
    return frozenset({_DEFAULT, *(each["name"] for each in context.persona_manager.personas_v3)})


def _message(body: Any) -> MessageBody:
    # AstrBot marks them as not to be kept, which is its own business
    return {"role": body["role"], "content": body["content"]}


def _names(value: object) -> tuple[str, ...] | None:
    """Names as AstrBot keeps them: None is all, and what is no list is none."""
    if value is None:
        return None
    names = value if isinstance(value, list | tuple) else ()
    return tuple(name for each in names if (name := str(each).strip()))
