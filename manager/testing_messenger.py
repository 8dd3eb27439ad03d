"""A public double of the port to the chat: a messenger that does errands as a test says."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from .manager import SubAgentManager
from .messenger import Errand, Way
from .models import RunId, SessionId, TurnEnd
from .runs.shielding import carry_through
from .testing import make_turn


class FakeMessenger:
    """Remembers errands, and does them as a test says.

    A wake-up is a turn of the owner that collects what there is and ends; a message goes out.
    """

    def __init__(
        self, open_session: Callable[[SessionId], Awaitable[SubAgentManager]] | None = None
    ) -> None:
        """Set it up; without sessions no wake-up comes to a turn."""
        self.is_on = True
        self.off: set[SessionId] = set()
        """Chats for which the plugin is switched off."""
        self.open_session = open_session
        self.end: TurnEnd | None = TurnEnd.ANSWERED
        """How wake-up turns end; None: there are none."""
        self.sends = True
        """Whether messages go out."""
        self.begun: list[Errand] = []
        """Errands in the order in which they were begun."""
        self.under_way: list[Errand] = []
        self.most_at_once = 0
        """The most errands of one session that were under way at once."""
        self.ended: list[tuple[TurnEnd, tuple[RunId, ...]]] = []
        """How each wake-up turn ended, and the results that it had been handed."""
        self.sent: list[tuple[Way, tuple[RunId, ...]]] = []
        """The messages that went out, each with its runs."""
        self.can_be_woken = True
        """Whether wake-ups reach the chat's main agent."""
        self.unsendable: set[RunId] = set()
        """Runs whose results and files do not go out, whatever else does."""
        self.filed: list[tuple[RunId, ...]] = []
        """Runs whose files were to be sent, each time that it was tried."""
        self.gates: dict[Way, asyncio.Event] = {}
        """An errand of this way waits for it before anything comes of it."""
        self.turn_gate: asyncio.Event | None = None
        """A wake-up turn waits for this once it was handed its results."""

    async def is_off_for(self, session: SessionId) -> bool:
        """See `Messenger.is_off_for`."""
        return session in self.off

    async def can_wake(self, errand: Errand) -> bool:
        """See `Messenger.can_wake`."""
        return self.can_be_woken

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.wake`."""
        async with self._doing(errand):
            if self.open_session is None or self.end is None:
                return ()
            manager = await self.open_session(errand.session)
            turn = make_turn(errand.session, owner=errand.owner, turn_id=f"wake {errand.errand_id}")
            manager.begin_turn(turn)
            taken = await manager.collect(turn)
            manager.carried(turn)
            if self.turn_gate is not None:
                await self.turn_gate.wait()
            ids = tuple(run.run_id for run in taken)
            self.ended.append((self.end, ids))
            # as a host does: its turn comes to its end whoever stops waiting for it
            _, cancelled = await carry_through(manager.end_turn(turn, end=self.end))
            if cancelled:
                raise asyncio.CancelledError
            return ids

    async def tell(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.tell`."""
        return await self._send(errand)

    async def files(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.files`."""
        self.filed.append(_run_ids(errand))
        return self._sendable(errand)

    async def ask(self, errand: Errand) -> bool:
        """See `Messenger.ask`."""
        return bool(await self._send(errand))

    async def _send(self, errand: Errand) -> tuple[RunId, ...]:
        async with self._doing(errand):
            if ids := self._sendable(errand):
                self.sent.append((errand.way, ids))
            return ids

    def _sendable(self, errand: Errand) -> tuple[RunId, ...]:
        if not self.sends:
            return ()
        return tuple(each for each in _run_ids(errand) if each not in self.unsendable)

    @asynccontextmanager
    async def _doing(self, errand: Errand) -> AsyncIterator[None]:
        self.begun.append(errand)
        self.under_way.append(errand)
        at_once = Counter(each.session for each in self.under_way)
        self.most_at_once = max(self.most_at_once, *at_once.values())
        try:
            if (gate := self.gates.get(errand.way)) is not None:
                await gate.wait()
            yield
        finally:
            self.under_way.remove(errand)


def _run_ids(errand: Errand) -> tuple[RunId, ...]:
    return tuple(run.run_id for run in errand.runs)
