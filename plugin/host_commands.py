"""AstrBot's own commands, as far as they concern sub-agents: /stop, /reset and /new.

They are watched, not registered with AstrBot's own list of background work: that would let any
member of a group stop everyone's. /stop and /new count when they are seen; /reset only once AstrBot
says that it was carried out, since not everyone may.
"""

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ..manager import SessionId, Sessions, StopReason
from ..manager.errors import SubAgentError
from ..manager.forgetting import Forgotten
from .asker import asker_of
from .languages import Languages
from .messenger import AstrBotMessenger
from .turns import Turns

_MODULE = "astrbot.builtin_stars.builtin_commands.main"
_STOP, _RESET, _NEW = "stop", "reset", "new_conv"
_CARRIED_OUT = "_clean_group_context_session"
"""The event's extra by which AstrBot says that a conversation was reset or begun anew."""
_MARK = "astrbot_plugin_subagents.command"


class HostCommands:
    """Follows what people tell AstrBot."""

    def __init__(
        self, sessions: Sessions, turns: Turns, messenger: AstrBotMessenger, languages: Languages
    ) -> None:
        self._sessions = sessions
        self._turns = turns
        self._messenger = messenger
        self._languages = languages

    async def seen(self, event: AstrMessageEvent) -> None:
        """A message came in, before AstrBot acts on it."""
        session = SessionId(event.unified_msg_origin)
        for name in _commands_of(event):
            event.set_extra(_MARK, name)
            if name == _STOP:
                # as AstrBot is about to; else a main agent that waits for a stopped child goes on
                for open_turn in self._turns.in_session(session):
                    if open_turn.agent is not None:
                        open_turn.agent.request_stop()
                await self._stop(event, session)
            elif name == _NEW:
                # their turn is about to be cut off, but nobody asked to stop the work
                for open_turn in self._turns.in_session(session):
                    open_turn.turn.keeps_children = True

    async def carried_out(self, event: AstrMessageEvent) -> None:
        """AstrBot has answered a message."""
        if event.get_extra(_MARK) != _RESET or event.get_extra(_CARRIED_OUT) is not True:
            return
        event.set_extra(_MARK, None)
        session = SessionId(event.unified_msg_origin)
        try:
            manager = await self._sessions.open_here(session)
            forgotten = await manager.forgetting.forget(asker_of(event))
        except SubAgentError as error:
            logger.error("The reset of %s did not reach its sub-agents: %s", session, error)
            return
        if not forgotten.is_nothing:
            await self._messenger.say(session, self._told(forgotten, session))

    async def _stop(self, event: AstrMessageEvent, session: SessionId) -> None:
        try:
            manager = await self._sessions.open_here(session)
            manager.errands.hold(asker_of(event))
            stopped = await manager.stopping.stop_all_of(asker_of(event), StopReason.USER)
        except SubAgentError as error:
            logger.error("/stop did not reach the sub-agents of %s: %s", session, error)
            return
        if stopped:
            text = self._languages.text("stop.done", session, count=len(stopped))
            await self._messenger.say(session, text)

    def _told(self, forgotten: Forgotten, session: SessionId) -> str:
        return self._languages.text(
            "reset.done",
            session,
            stopped=forgotten.stopped,
            agents=forgotten.agents,
            memories=forgotten.memories,
            notes=forgotten.notes,
            results=forgotten.results,
        )


def _commands_of(event: AstrMessageEvent) -> list[str]:
    """Names of AstrBot's own commands that a message calls."""
    handlers = event.get_extra("activated_handlers") or ()
    return [
        handler.handler_name
        for handler in handlers
        if handler.handler_module_path == _MODULE and handler.handler_name in (_STOP, _RESET, _NEW)
    ]
