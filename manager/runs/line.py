"""The line in which runs wait for a place: first in, first out, under three caps.

A run may start when the process and its session have a free place, and no other run of its
conversation is at work or ahead of it: one conversation per agent stays one line. A run that waits
for an answer is parked: its place is free, its conversation stays its own, and it comes back ahead
of those that have not begun.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ..models import ConversationId, RunId, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How many runs may be at work at once; each at least 1."""

    per_session: int
    total: int


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, kw_only=True)
class Ticket:
    """One run's place in the line, or at work once `ready` is done."""

    run_id: RunId
    session: SessionId
    conversation: ConversationId
    ready: asyncio.Future[None] = field(default_factory=_future)


class Line:
    """All runs of the process that wait or work."""

    def __init__(self, caps: Callable[[], Caps]) -> None:
        self._caps = caps
        self._waiting: dict[RunId, Ticket] = {}
        self._working: dict[RunId, Ticket] = {}
        self._per_session: Counter[SessionId] = Counter()
        self._busy: set[ConversationId] = set()
        self._parked: dict[RunId, Ticket] = {}
        self._returning: dict[RunId, Ticket] = {}

    def join(self, ticket: Ticket) -> None:
        """Stand at the end of the line; `ticket.ready` is done at once when there is a place."""
        self._waiting[ticket.run_id] = ticket
        self.admit()

    def leave(self, run_id: RunId) -> None:
        """Give up the place, at work, parked or in the line; unknown ids are ignored."""
        if self._waiting.pop(run_id, None) is not None:
            # those behind it may have waited for its conversation
            self.admit()
            return
        ticket = self._vacate(run_id) or self._away(run_id)
        if ticket is not None:
            self._busy.discard(ticket.conversation)
            self.admit()

    def hold(self, ticket: Ticket) -> None:
        """Park a run that is taken up while it waits: it has no place, its conversation is its."""
        self._parked[ticket.run_id] = ticket
        self._busy.add(ticket.conversation)

    def park(self, run_id: RunId) -> None:
        """Free the place of a run at work for a while; unknown ids are ignored."""
        if (ticket := self._vacate(run_id)) is not None:
            self._parked[run_id] = ticket
            self.admit()

    def unpark(self, run_id: RunId) -> asyncio.Future[None]:
        """Ask for a place for a run that is parked.

        Returns:
            Done once it has one; at once for a run that is not parked.
        """
        ticket = self._parked.pop(run_id, None)
        if ticket is None:
            has_place = _future()
            has_place.set_result(None)
            return has_place
        ticket.ready = _future()
        self._returning[run_id] = ticket
        self.admit()
        return ticket.ready

    def _vacate(self, run_id: RunId) -> Ticket | None:
        ticket = self._working.pop(run_id, None)
        if ticket is not None:
            self._per_session[ticket.session] -= 1
            if self._per_session[ticket.session] == 0:
                del self._per_session[ticket.session]
        return ticket

    def _away(self, run_id: RunId) -> Ticket | None:
        return self._parked.pop(run_id, None) or self._returning.pop(run_id, None)

    def position(self, run_id: RunId) -> int | None:
        """The run's place in the line, from 1; None when it is not in it."""
        for number, waiting in enumerate((*self._returning, *self._waiting), start=1):
            if waiting == run_id:
                return number
        return None

    def counts(self) -> tuple[int, int]:
        """How many runs work and how many wait, in the whole process."""
        return len(self._working), len(self._returning) + len(self._waiting)

    def free_places(self, session: SessionId) -> int:
        """How many more runs of this session could start now."""
        caps = self._caps()
        return max(
            0,
            min(caps.total - len(self._working), caps.per_session - self._per_session[session]),
        )

    def admit(self) -> None:
        """Let everyone to work for whom there is a place; called when caps have changed too."""
        caps = self._caps()
        for ticket in tuple(self._returning.values()):
            if len(self._working) >= caps.total:
                return
            if self._per_session[ticket.session] < caps.per_session:
                del self._returning[ticket.run_id]
                self._start(ticket)
        ahead: set[ConversationId] = set()
        for ticket in tuple(self._waiting.values()):
            if len(self._working) >= caps.total:
                return
            blocked = (
                ticket.conversation in self._busy
                or ticket.conversation in ahead
                or self._per_session[ticket.session] >= caps.per_session
            )
            if blocked:
                ahead.add(ticket.conversation)
                continue
            del self._waiting[ticket.run_id]
            self._start(ticket)

    def _start(self, ticket: Ticket) -> None:
        self._working[ticket.run_id] = ticket
        self._per_session[ticket.session] += 1
        self._busy.add(ticket.conversation)
        if not ticket.ready.done():
            ticket.ready.set_result(None)
