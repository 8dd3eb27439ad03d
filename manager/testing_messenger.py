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
        self.filed: list[tuple[RunId, ...]] = []
        """Runs whose files were sent after a wake-up."""
        self.gates: dict[Way, asyncio.Event] = {}
        """An errand of this way waits for it before anything comes of it."""
        self.turn_gate: asyncio.Event | None = None
        """A wake-up turn waits for this once it was handed its results."""

    async def is_off_for(self, session: SessionId) -> bool:
        """See `Messenger.is_off_for`."""
        return session in self.off

    async def wake(self, errand: Errand) -> None:
        """See `Messenger.wake`."""
        async with self._doing(errand):
            if self.open_session is None or self.end is None:
                return
            manager = await self.open_session(errand.session)
            turn = make_turn(errand.session, owner=errand.owner, turn_id=f"wake {errand.errand_id}")
            manager.begin_turn(turn)
            taken = await manager.collect(turn)
            manager.carried(turn)
            if self.turn_gate is not None:
                await self.turn_gate.wait()
            self.ended.append((self.end, tuple(run.run_id for run in taken)))
            # as a host does: its turn comes to its end whoever stops waiting for it
            _, cancelled = await carry_through(manager.end_turn(turn, end=self.end))
            if cancelled:
                raise asyncio.CancelledError

    async def tell(self, errand: Errand) -> bool:
        """See `Messenger.tell`."""
        return await self._send(errand)

    async def files(self, errand: Errand) -> None:
        """See `Messenger.files`."""
        self.filed.append(_run_ids(errand))

    async def ask(self, errand: Errand) -> bool:
        """See `Messenger.ask`."""
        return await self._send(errand)

    async def _send(self, errand: Errand) -> bool:
        async with self._doing(errand):
            if self.sends:
                self.sent.append((errand.way, _run_ids(errand)))
            return self.sends

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
