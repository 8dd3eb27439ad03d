"""The second part of the Store: turns under way, events, and letting old rows go.

The rules of `protocol.py` hold here too. Neither a turn nor an event makes a record of its
session: a turn is gone when it ends, and events are old after some days.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ..models import RunId, SessionId
from ..stored_event import StoredEvent
from ..turn_record import TurnCall, TurnRecord


class StoreLog(Protocol):
    """What the store keeps for a while: the core reads it after a crash, the page always."""

    async def begin_turn(self, record: TurnRecord) -> None:
        """Keep a turn with the calls it has; one that is kept already stays as it is."""
        ...

    async def add_turn_call(self, turn_id: str, call: TurnCall) -> None:
        """Add a call to a turn; an unknown turn is ignored."""
        ...

    async def end_turn(self, turn_id: str) -> None:
        """Delete a turn with its calls; an unknown turn is ignored."""
        ...

    async def open_turns(self, home: str | None = None) -> list[TurnRecord]:
        """The turns of all sessions, or of a home's, that did not end, oldest first."""
        ...

    async def add_events(self, events: Sequence[StoredEvent]) -> None:
        """Append events in their order; the store gives them their ids."""
        ...

    async def events_after(
        self,
        event_id: int,
        *,
        session: SessionId | None = None,
        run_id: RunId | None = None,
        limit: int = 500,
    ) -> list[StoredEvent]:
        """The events with a higher id, in the order of their ids.

        Whoever goes on from the last one misses none: no lower id turns up later.
        """
        ...

    async def last_event_id(self) -> int:
        """The highest id of those kept, 0 for none."""
        ...

    async def delete_old(
        self,
        *,
        events_before: datetime,
        steps_before: datetime,
        runs_before: datetime,
        limit: int,
    ) -> int:
        """Delete some of what is old; call it again until it returns 0.

        A run whose delivery is still open stays, and so does an agent's memory. Fork contexts go
        when their group has no run any more.

        Args:
            events_before: Events from before go.
            steps_before: The journals of runs that finished before go.
            runs_before: Runs that finished before go, with their journals, events and deliveries,
                and their messages where they had no agent.
            limit: At least 1; so many rows of each table go at most.

        Returns:
            How many rows went.
        """
        ...
