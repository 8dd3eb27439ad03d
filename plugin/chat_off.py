"""Ends the runs of a chat for which the plugin was switched off.

AstrBot announces no such change, so it is noticed where something happens anyway: at a message, at
a call of our tools, and at the steps of the runs themselves.
"""

from ..manager import SessionId, Sessions, StopReason
from ..manager.events import Event, EventBus, ModelCalled, RunChanged
from ..manager.host import Clock
from .chat_switch import ChatSwitch
from .owned_tasks import OwnedTasks

_EVERY_SECONDS = 1.0
"""The steps of a session's runs are a reason to read the chat's own switch at most this often."""

_REMEMBERED_AT_MOST = 1000
_END_SECONDS = 10.0


class ChatOff:
    """Watches the chats in which runs are at work."""

    def __init__(self, switch: ChatSwitch, sessions: Sessions, bus: EventBus, clock: Clock) -> None:
        self._switch = switch
        self._sessions = sessions
        self._clock = clock
        self._looked: dict[SessionId, float] = {}
        self._looking = OwnedTasks()
        self._unsubscribe = bus.subscribe(self._look_at)

    async def ended(self, session: SessionId) -> bool:
        """Whether the plugin is off for this chat; if so, its live runs have been told to end."""
        if await self._switch.is_on(session):
            return False
        # Their ends are not waited for: whoever asks must not be held up by them.
        self._looking.start(self._end(session), what="Ending the runs of a chat")
        return True

    def look_everywhere(self) -> None:
        """The master switch may have been turned: runs that wait would not notice by themselves."""
        for manager in self._sessions.all_loaded():
            self._looking.start(self._look(manager.session), what="Looking whether a chat is off")

    async def close(self) -> None:
        """Watch no longer."""
        self._unsubscribe()
        await self._looking.finish(seconds=_END_SECONDS)

    def _look_at(self, happened: Event) -> None:
        if isinstance(happened, ModelCalled | RunChanged) and self._is_due(happened.session):
            self._looking.start(self._look(happened.session), what="Looking whether a chat is off")

    def _is_due(self, session: SessionId) -> bool:
        if not self._switch.may_be_on(session):
            return True
        now = self._clock.monotonic()
        if now - self._looked.get(session, -_EVERY_SECONDS) < _EVERY_SECONDS:
            return False
        if len(self._looked) >= _REMEMBERED_AT_MOST:
            self._looked.clear()
        self._looked[session] = now
        return True

    async def _look(self, session: SessionId) -> None:
        await self.ended(session)

    async def _end(self, session: SessionId) -> None:
        await self._sessions.end_all(session, StopReason.PLUGIN_OFF)
