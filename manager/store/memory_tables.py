"""Conversations, outbox and board of `MemoryStore`, in dictionaries."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from ..errors import StoreUnavailable
from ..models import (
    ON_THE_WAY,
    ConversationId,
    Delivery,
    DeliveryState,
    OwnerId,
    RunId,
    SessionId,
    SharedEntry,
    StoredMessage,
)
from .rows import key_of
from .texts import cleaned


def refuse_known(known: bool) -> None:
    """Refuse a record whose key is in use, as a database does.

    Raises:
        StoreUnavailable: It is known.
    """
    if known:
        raise StoreUnavailable("a record of this key exists already")


class MemoryMessages:
    """Messages by conversation and number."""

    def __init__(self) -> None:
        self._messages: dict[ConversationId, dict[int, StoredMessage]] = {}
        self._homes: dict[ConversationId, SessionId] = {}

    def add(self, session: SessionId, messages: Sequence[StoredMessage]) -> None:
        """Insert messages; their numbers must be new, or have been used by the same run."""
        for message in messages:
            known = self._messages.get(message.conversation, {}).get(message.seq, message)
            refuse_known(known.run_id != message.run_id)
        for message in messages:
            self._messages.setdefault(message.conversation, {})[message.seq] = cleaned(message)
            self._homes[message.conversation] = session

    def newest(self, conversation: ConversationId, most: int) -> list[StoredMessage]:
        """The newest messages, in their order."""
        messages = [item for _, item in sorted(self._messages.get(conversation, {}).items())]
        return messages[max(0, len(messages) - most) :]

    def last_seq(self, conversation: ConversationId) -> int:
        """The highest number in use, or 0."""
        return max(self._messages.get(conversation, {}), default=0)

    def count(self, conversations: Collection[ConversationId]) -> dict[ConversationId, int]:
        """How many messages each conversation holds, empty ones left out."""
        return {key: len(self._messages[key]) for key in conversations if key in self._messages}

    def forget(self, session: SessionId, conversation: ConversationId | None = None) -> None:
        """Delete a conversation of the session, or all of them."""
        for key in [key for key, home in self._homes.items() if home == session]:
            if conversation is None or key == conversation:
                del self._messages[key], self._homes[key]

    def of_run(self, conversation: ConversationId, run_id: RunId) -> list[int]:
        """The numbers of the messages that a run added to a conversation."""
        messages = self._messages.get(conversation, {})
        return [seq for seq, message in messages.items() if message.run_id == run_id]

    def delete(self, runs: Collection[tuple[ConversationId, RunId]], most: int) -> int:
        """Delete what runs added to conversations, as much as is allowed; how many went."""
        gone = [(run[0], seq) for run in runs for seq in self.of_run(*run)][:most]
        for conversation, seq in gone:
            del self._messages[conversation][seq]
            if not self._messages[conversation]:
                del self._messages[conversation], self._homes[conversation]
        return len(gone)


class MemoryOutbox:
    """Deliveries by their id, in the order in which they came."""

    def __init__(self) -> None:
        self._deliveries: dict[str, Delivery] = {}

    def add(self, delivery: Delivery) -> None:
        """Insert a result; one that is there already stays as it is."""
        self._deliveries.setdefault(delivery.delivery_id, cleaned(delivery))

    def load(self, session: SessionId, states: Collection[DeliveryState]) -> list[Delivery]:
        """The session's results in these states, oldest first."""
        found = (d for d in self._deliveries.values() if d.session == session and d.state in states)
        return sorted(found, key=lambda delivery: delivery.created_at)

    def owners(self, wanted: Callable[[Delivery], bool]) -> list[tuple[SessionId, OwnerId]]:
        """Whose results wait among these, without doubles."""
        found = filter(wanted, self._deliveries.values())
        pending = (d for d in found if d.state is DeliveryState.PENDING)
        return list(dict.fromkeys((delivery.session, delivery.owner) for delivery in pending))

    def move(
        self,
        delivery_ids: Collection[str],
        *,
        expected: Collection[DeliveryState],
        state: DeliveryState,
        taker: str = "",
        lease_until: datetime | None = None,
    ) -> list[str]:
        """Move the results that are in an expected state."""
        moved: list[str] = []
        for delivery_id in delivery_ids:
            old = self._deliveries.get(delivery_id)
            if old is None or old.state not in expected:
                continue
            attempts = old.attempts + (state is DeliveryState.CLAIMED)
            self._deliveries[delivery_id] = cleaned(
                replace(old, state=state, taker=taker, lease_until=lease_until, attempts=attempts)
            )
            moved.append(delivery_id)
        return moved

    def release(self, executor: str, wanted: Callable[[Delivery], bool]) -> int:
        """Put back what was claimed or handed among these, but for what this process has."""
        held = (DeliveryState.CLAIMED, DeliveryState.HANDED)
        found = list(filter(wanted, self._deliveries.values()))
        own = [each.delivery_id for each in found if each.taker == executor]
        self.move(own, expected=[DeliveryState.HANDED], state=DeliveryState.ACKNOWLEDGED)
        every = [each.delivery_id for each in found]
        return len(self.move(every, expected=held, state=DeliveryState.PENDING))

    def states(self, delivery_ids: Collection[str]) -> dict[RunId, DeliveryState]:
        """Where these results stand; unknown ones are left out."""
        found = (self._deliveries.get(each) for each in delivery_ids)
        return {RunId(each.delivery_id): each.state for each in found if each is not None}

    def is_open(self, delivery_id: str) -> bool:
        """Whether a result is still on its way."""
        delivery = self._deliveries.get(delivery_id)
        return delivery is not None and delivery.state in ON_THE_WAY

    def delete(self, delivery_ids: Collection[str]) -> int:
        """Delete results; how many went."""
        return sum(self._deliveries.pop(each, None) is not None for each in delivery_ids)

    def forget(self, session: SessionId) -> None:
        """Delete the session's results."""
        for delivery in self.load(session, list(DeliveryState)):
            del self._deliveries[delivery.delivery_id]


class MemoryBoard:
    """Notes by session and number."""

    def __init__(self) -> None:
        self._notes: dict[SessionId, dict[int, SharedEntry]] = {}
        self._last: dict[SessionId, int] = {}

    def add(self, session: SessionId, entry: SharedEntry, keep: int) -> SharedEntry:
        """Add a note under its number or a higher one, and let the oldest go."""
        notes = self._notes.setdefault(session, {})
        entry = cleaned(replace(entry, seq=max(entry.seq, self._last.get(session, 0) + 1)))
        notes[entry.seq] = entry
        self._last[session] = entry.seq
        for seq in sorted(notes)[: max(0, len(notes) - keep)]:
            del notes[seq]
        return entry

    def forget(self, session: SessionId) -> None:
        """Delete the session's notes and its count."""
        self.clear(session)
        self._last.pop(session, None)

    def load(self, session: SessionId) -> list[SharedEntry]:
        """The board, oldest first."""
        return [note for _, note in sorted(self._notes.get(session, {}).items())]

    def clear(
        self, session: SessionId, sender: str | None = None, owner: OwnerId | None = None
    ) -> int:
        """Clear the board, or what one sender or owner posted; how many notes went."""
        gone = [
            note
            for note in self.load(session)
            if (sender is None or key_of(note.sender) == key_of(sender))
            and (owner is None or note.owner == owner)
        ]
        for note in gone:
            del self._notes[session][note.seq]
        return len(gone)
