"""Turns under way and events of `MemoryStore`, in dictionaries."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..models import RunId, SessionId
from ..stored_event import StoredEvent
from ..turn_record import TurnCall, TurnRecord
from .texts import cleaned


class MemoryTurns:
    """Turns by their id, in the order in which they came."""

    def __init__(self) -> None:
        self._turns: dict[str, TurnRecord] = {}

    def begin(self, record: TurnRecord) -> None:
        """Keep a turn; one that is there stays as it is."""
        self._turns.setdefault(record.turn_id, cleaned(record))

    def add_call(self, turn_id: str, call: TurnCall) -> None:
        """Keep a call of a turn; nothing happens where there is no such turn."""
        record = self._turns.get(turn_id)
        if record is not None:
            self._turns[turn_id] = replace(record, calls=(*record.calls, cleaned(call)))

    def end(self, turn_id: str) -> None:
        """Delete a turn."""
        self._turns.pop(turn_id, None)

    def all(self) -> list[TurnRecord]:
        """All turns, oldest first."""
        return sorted(self._turns.values(), key=lambda record: record.began_at)

    def forget(self, session: SessionId) -> None:
        """Delete the session's turns."""
        for record in self.all():
            if record.session == session:
                self.end(record.turn_id)


class MemoryEvents:
    """Events by their number."""

    def __init__(self) -> None:
        self._events: dict[int, StoredEvent] = {}
        self._given = 0

    def add(self, events: Sequence[StoredEvent]) -> None:
        """Append events, in their order."""
        for event in events:
            self._given += 1
            self._events[self._given] = replace(cleaned(event), event_id=self._given)

    def after(
        self, event_id: int, *, session: SessionId | None = None, run_id: RunId | None = None
    ) -> list[StoredEvent]:
        """The events that came next."""
        return [
            event
            for number, event in self._events.items()
            if number > event_id
            and (session is None or event.session == session)
            and (run_id is None or event.run_id == run_id)
        ]

    def last(self) -> int:
        """The highest number that is kept, or 0."""
        return max(self._events, default=0)

    def delete(self, old: Callable[[StoredEvent], object], most: int | None = None) -> int:
        """Delete the events of which it is true, as many as are allowed; how many went."""
        gone = [number for number, event in self._events.items() if old(event)][:most]
        for number in gone:
            del self._events[number]
        return len(gone)
