"""AstrBot behind the core's port to the chat: wake-up turns, results and questions as messages."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent, MessageChain
from astrbot.api.message_components import File, Image, Plain
from astrbot.api.star import Context
from astrbot.core.platform.message_session import MessageSession
from astrbot.core.utils.session_waiter import FILTERS, USER_SESSIONS

from ..manager.messenger import Errand, Messenger
from ..manager.models import Artifact, Run, RunId, RunState, SessionId
from ..subagent_tools.reports import one_line
from .chat_switch import ChatSwitch
from .child_event import is_admin_id
from .command_texts import shortened, who
from .languages import Languages
from .wake_event import WakeEvent, drop_empty
from .webchat import until_page_is_free

_LONGEST_TURN_SECONDS = 3600.0
_SHOWN = 3_000
"""Characters of a result in a message to people."""
_FILES = 10
"""Files of a run that are sent."""
_NAMES = 10
"""Names that the text of a wake-up holds."""
_NAME = 60


class AstrBotMessenger(Messenger):
    """Brings errands to the chats of one AstrBot."""

    def __init__(self, context: Context, switch: ChatSwitch, languages: Languages) -> None:
        self._context = context
        self._switch = switch
        self._languages = languages
        self._is_on = False

    @property
    def is_on(self) -> bool:
        """Whether AstrBot has started."""
        return self._is_on

    def begin(self) -> None:
        """AstrBot has started: chats can be reached."""
        self._is_on = True

    async def is_off_for(self, session: SessionId) -> bool:
        """See `Messenger.is_off_for`."""
        return not await self._switch.is_on(session)

    async def can_wake(self, errand: Errand) -> bool:
        """See `Messenger.can_wake`."""
        await until_page_is_free(errand.session)
        event = self._wake_event(errand)
        if self._context.get_platform_inst(event.get_platform_id()) is None:
            why = "its platform is not there"
        elif _is_waited_for(event):
            why = "a plugin waits for a message in it"
        else:
            return True
        logger.info("Results for %s are brought later: %s.", errand.session, why)
        return False

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.wake`."""
        event = self._wake_event(errand)
        self._context.get_event_queue().put_nowait(event)
        try:
            async with asyncio.timeout(_LONGEST_TURN_SECONDS):
                await event.over.wait()
        except TimeoutError:
            logger.error("A wake-up turn of %s did not end.", errand.session)
        finally:
            drop_empty(event)
        return event.held

    async def tell(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.tell`."""
        await until_page_is_free(errand.session)
        texts = [(run.run_id, self._result(run)) for run in errand.runs]
        return tuple([run_id for run_id, text in texts if await self.say(errand.session, text)])

    async def ask(self, errand: Errand) -> bool:
        """See `Messenger.ask`."""
        await until_page_is_free(errand.session)
        (run,) = errand.runs
        text = self._languages.text(
            "question.asked",
            errand.session,
            name=run.agent or run.run_id,
            task_id=run.run_id,
            question=run.question,
        )
        return await self.say(errand.session, text)

    async def files(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.files`."""
        chains = [(run.run_id, _made(run)) for run in errand.runs]
        return tuple([run_id for run_id, made in chains if await self._send(errand.session, made)])

    async def say(self, session: SessionId, text: str) -> bool:
        """Send a text to a chat; whether it went out."""
        return await self._send(session, MessageChain(chain=[Plain(text)]))

    def _wake_event(self, errand: Errand) -> WakeEvent:
        config: Mapping[str, Any] = self._context.get_config(umo=errand.session)
        role = "admin" if is_admin_id(errand.owner, config) else "member"
        text = _wake_prefix(config) + _wake_text(errand)
        return WakeEvent.of(errand, self._context, text=text, role=role)

    def _result(self, run: Run) -> str:
        key = "result.done" if run.state is RunState.COMPLETED else "result.not_done"
        return self._languages.text(
            key,
            run.session,
            name=who(run),
            task_id=run.run_id,
            state=self._languages.text(f"state.{run.state}", run.session),
            reason=run.failure.message if run.failure else "",
            text=shortened(run.last_text or "-", _SHOWN),
        )

    async def _send(self, session: SessionId, chain: MessageChain) -> bool:
        try:
            return bool(await self._context.send_message(MessageSession.from_str(session), chain))
        except Exception:  # noqa: BLE001 - an edge: platforms raise whatever their libraries do
            logger.exception("A message to %s could not be sent", session)
            return False


def _wake_text(errand: Errand) -> str:
    if errand.lost:
        return (
            "[Sub-agents] The bot was restarted in the middle of its work. This message is not "
            "from the user. What was being done comes with it: go on, and answer the user."
        )
    return (
        f"[Sub-agents] Background tasks are over: {_names(errand.runs)}. This message is not from "
        "the user. The results come with it: go on with what they were for, and tell the user what "
        "matters."
    )


def _names(runs: Iterable[Run]) -> str:
    """What runs are called, in one line that does not grow with what they are called."""
    names = list(dict.fromkeys(one_line(who(run), _NAME) for run in runs))
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}"


def _wake_prefix(config: Mapping[str, Any]) -> str:
    """What a message must begin with to reach the model, where the owner wants that."""
    settings = config.get("provider_settings")
    prefix = settings.get("wake_prefix") if isinstance(settings, Mapping) else ""
    return prefix if isinstance(prefix, str) else ""


def _is_waited_for(event: AstrMessageEvent) -> bool:
    """Whether a plugin waits for the next message of the chat and would take this one for it."""
    for each in tuple(FILTERS):
        waiter = USER_SESSIONS.get(each.filter(event))
        if waiter is not None and not waiter.session_controller.future.done():
            return True
    return False


def _made(run: Run) -> MessageChain:
    made = [item for item in run.artifacts if item.path]
    return MessageChain(chain=[_component(item) for item in made[:_FILES]])


def _component(item: Artifact) -> Image | File:
    if item.kind == "image":
        return Image.fromFileSystem(item.path)
    return File(name=item.name or Path(item.path).name, file=item.path)
