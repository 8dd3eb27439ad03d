"""The turn log: what a turn did with our tools, kept until it ends, and what a restart cut off.

The platform saves a turn only at its end. So the user's message and every call of our tools are
written while it goes on; after a restart the next turn of that user, a wake-up turn if none comes,
gets them together with the results. Only turns that use our tools are written.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable

from .errors import StoreError
from .models import OwnerId, SessionId, Turn, TurnEnd
from .runs.supervisor import Supervisor
from .services import Services
from .turn_record import TurnCall, TurnRecord

logger = logging.getLogger(__name__)

_LONGEST = 20_000
"""Characters of a call's arguments and of its reply that are kept."""


class TurnLog:
    """The turns of one session, as they are kept."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        supervisor: Supervisor,
        lost: Iterable[TurnRecord],
    ) -> None:
        """Set it up.

        Args:
            session: The chat.
            services: The core's surroundings.
            supervisor: Owns the writes, which nobody waits for.
            lost: Turns that a restart cut off, oldest first.
        """
        self._session = session
        self._services = services
        self._supervisor = supervisor
        self._kept: dict[str, asyncio.Task[None] | None] = {}
        """Turns that are written, each with the newest of its writes."""
        self._over: set[str] = set()
        """Turns that nobody needs any more and that the store still has."""
        self._lost = {record.turn_id: record for record in lost}
        self._tries: Counter[str] = Counter()
        """How often a wake-up turn was begun for a lost one."""
        self._takers: dict[str, str] = {}
        """Which turn was handed which lost one, by the lost one's id."""

    def begin(self, turn: Turn) -> None:
        """One of our tools is called in a turn: from now on it is kept.

        The write is given to the store before any that the tool makes, so it is there first.
        """
        if turn.turn_id in self._kept:
            return
        self._kept[turn.turn_id] = None
        record = TurnRecord(
            turn_id=turn.turn_id,
            session=self._session,
            owner=turn.asker.owner,
            origin=turn.origin,
            message=turn.message,
            began_at=self._services.clock.now(),
            executor=self._services.executor,
        )
        self._write(turn, lambda: self._services.store.begin_turn(record))

    def add(self, turn: Turn, *, tool: str, arguments: str, reply: str) -> None:
        """A call has its reply."""
        if turn.turn_id not in self._kept:
            return
        call = TurnCall(
            tool=tool,
            arguments=arguments[:_LONGEST],
            reply=reply[:_LONGEST],
            at=self._services.clock.now(),
        )
        self._write(turn, lambda: self._services.store.add_turn_call(turn.turn_id, call))

    async def end(self, turn: Turn, end: TurnEnd) -> None:
        """A turn is over: nothing of it need be kept, and what it was handed is settled.

        What the store does not take now is tried again at the end of the next turn.
        """
        taken = [lost for lost, taker in self._takers.items() if taker == turn.turn_id]
        for lost in taken:
            del self._takers[lost]
        if end in (TurnEnd.ANSWERED, TurnEnd.LEFT):
            # a turn that goes on without us has read it, too
            self._forget(taken)
        if turn.turn_id in self._kept:
            writing = self._kept.pop(turn.turn_id)
            if end is not TurnEnd.LEFT:
                # one that goes on without us may still be cut off, by the end of the process
                self._over.add(turn.turn_id)
            if writing is not None:
                # else the store might begin it after its end
                await asyncio.wait([writing])
        try:
            await self._write_ends()
        except StoreError:
            logger.exception("The end of a turn could not be stored yet")

    def lost_of(self, owner: OwnerId, *, at_work: Collection[str] = ()) -> list[TurnRecord]:
        """Lost turns of a user that no turn has, oldest first.

        Args:
            owner: The user.
            at_work: Ids of turns whose runs are not all over: those are left out.
        """
        return [
            record
            for turn_id, record in self._lost.items()
            if record.owner == owner and turn_id not in self._takers and turn_id not in at_work
        ]

    def claim(self, lost: Iterable[TurnRecord]) -> None:
        """A wake-up turn is about to be begun for these."""
        self._tries.update(record.turn_id for record in lost)

    def is_worn_out(self, record: TurnRecord) -> bool:
        """Whether a lost turn was tried so often that only a message of its user brings it."""
        return self._tries[record.turn_id] >= self._services.settings().delivery.max_attempts

    def lost_owners(self) -> tuple[OwnerId, ...]:
        """Users of lost turns, without doubles."""
        return tuple(dict.fromkeys(record.owner for record in self._lost.values()))

    def hand(self, turn: Turn, *, at_work: Collection[str]) -> list[TurnRecord]:
        """Give a turn what its user's lost ones left."""
        found = self.lost_of(turn.asker.owner, at_work=at_work)
        self._takers.update({record.turn_id: turn.turn_id for record in found})
        return found

    def has(self, turn: Turn) -> bool:
        """Whether a turn was handed a lost one."""
        return turn.turn_id in self._takers.values()

    async def drop(self, owner: OwnerId) -> None:
        """Nobody is to get the lost turns of this user any more.

        Raises:
            StoreError: It could not be written yet.
        """
        self._forget([record.turn_id for record in self._lost.values() if record.owner == owner])
        await self._write_ends()

    def is_idle(self) -> bool:
        """Whether the session may leave memory: no lost turn waits, and every end is stored."""
        return not (self._lost or self._over)

    def _forget(self, lost: Iterable[str]) -> None:
        for turn_id in lost:
            del self._lost[turn_id]
            self._takers.pop(turn_id, None)
            self._over.add(turn_id)

    async def _write_ends(self) -> None:
        for turn_id in sorted(self._over):
            await self._services.store.end_turn(turn_id)
            self._over.discard(turn_id)

    def _write(self, turn: Turn, write: Callable[[], Awaitable[None]]) -> None:
        if not self._supervisor.closing:
            work = _logged(write, behind=self._kept[turn.turn_id])
            name = f"turn log of {self._session}"
            self._kept[turn.turn_id] = self._supervisor.start(work, name=name)


async def _logged(
    write: Callable[[], Awaitable[None]], *, behind: asyncio.Task[None] | None
) -> None:
    """Write once the earlier write is through: a store may have several connections."""
    if behind is not None:
        await asyncio.wait([behind])
    try:
        await write()
    except StoreError:
        logger.exception("What a turn does could not be kept")
