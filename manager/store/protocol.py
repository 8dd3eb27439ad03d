"""The Store: what the core keeps, as one Protocol.

Its other parts are in `protocol_log.py` and `protocol_workers.py`.

`sql.py` holds it in SQLite or PostgreSQL, `memory.py` in dictionaries for tests; one contract
test holds both. Every method is one transaction. All methods but `open` and `close` may raise
`StoreUnavailable`.

The first agent, run or note of a session makes its record, with the time of what it was; before
that nothing is kept of a session unless `save_session` is called. A list leaves out a damaged row,
which is logged and stays as it is; a damaged row that is asked for by itself is an error.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..fork_context import ForkContext
from ..models import (
    ConversationId,
    Delivery,
    DeliveryState,
    GroupId,
    OwnerId,
    Run,
    RunId,
    RunState,
    RunStep,
    SessionId,
    SessionRecord,
    SharedEntry,
    StoredMessage,
    SubAgentConfig,
)
from .protocol_log import StoreLog
from .protocol_pages import StorePages
from .protocol_workers import StoreWorkers


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWrite:
    """All that one moment of a run changes, written together or not at all."""

    run: Run
    """The run as it stands now; its `fence` is checked against the stored one."""
    steps: Sequence[RunStep] = ()
    """Journal rows, inserted or replaced by their key."""
    messages: Sequence[StoredMessage] = ()
    """New messages of the run's conversation; one that this run has stored before under the same
    `seq` is left as it is, so that a write may be repeated."""
    delivery: Delivery | None = None
    """The outbox row that a run's end brings."""


class Store(StoreLog, StoreWorkers, Protocol):
    """What the core keeps."""

    async def open(self) -> None:
        """Connect, take the lock, bring the schema up to date.

        Raises:
            StoreTooNew: A later version wrote it; nothing was changed.
            StoreLocked: Another process uses the same SQLite file.
            StoreUnavailable: It cannot be reached or written.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and lock; the second call does nothing."""
        ...

    @property
    def pages(self) -> StorePages:
        """Looks over many sessions, for the dashboard."""
        ...

    async def load_session(self, session: SessionId) -> SessionRecord | None:
        """The session's record, or None when nothing is kept of it."""
        ...

    async def save_session(self, record: SessionRecord) -> None:
        """Insert or replace."""
        ...

    async def delete_session(self, session: SessionId) -> None:
        """Delete the session and all that is kept of it."""
        ...

    async def idle_sessions(self, before: datetime, limit: int) -> list[SessionId]:
        """Sessions last active before this time and without an unfinished run, oldest first."""
        ...

    async def load_agents(self, session: SessionId) -> list[SubAgentConfig]:
        """The session's dynamic agents, oldest first."""
        ...

    async def save_agent(self, session: SessionId, config: SubAgentConfig) -> None:
        """Insert, or replace the one of the same kind and name without regard to case."""
        ...

    async def delete_agent(self, session: SessionId, config: SubAgentConfig) -> None:
        """Delete the agent and the messages of its conversation; its runs stay."""
        ...

    async def load_messages(
        self, conversation: ConversationId, *, newest: int
    ) -> list[StoredMessage]:
        """The newest messages of a conversation, in their order; `newest` is at least 0."""
        ...

    async def last_seq(self, conversation: ConversationId) -> int:
        """The highest `seq` of the conversation, 0 when it is empty."""
        ...

    async def count_messages(
        self, conversations: Collection[ConversationId]
    ) -> dict[ConversationId, int]:
        """How many messages each conversation holds; empty ones may be left out."""
        ...

    async def add_runs(self, runs: Sequence[Run], *, fork: ForkContext | None = None) -> None:
        """Insert new runs, all or none.

        Args:
            runs: Runs with new ids.
            fork: What the forks among them begin with; new for its group.
        """
        ...

    async def fork_context(self, session: SessionId, group_id: GroupId) -> ForkContext | None:
        """What the forks of this session's group begin with, or None: it has none."""
        ...

    async def take_run(self, run: Run) -> Run | None:
        """Take an unfinished run for execution.

        Writes `state`, `executor` and `started_at` of the given record and raises the stored
        fence by one, if the stored run is queued, running or waiting.

        Returns:
            The run with its new fence, or None: it is over, or it does not exist.
        """
        ...

    async def write_run(self, write: RunWrite) -> None:
        """Write one moment of a run.

        What a run is born with (agent, input, owner, origin, graph) and its fence are left as
        stored. A delivery that exists already is left as it is. A write that is cancelled before
        it began is taken back; once begun it is committed.

        Raises:
            StoreUnavailable: Also when a message's number belongs to another run; nothing was
                written.
            LostRun: The stored fence is another one, or the stored run is already over; nothing
                was written.
        """
        ...

    async def get_run(self, session: SessionId, run_id: RunId) -> Run | None:
        """One run of this session."""
        ...

    async def list_runs(
        self,
        session: SessionId,
        *,
        states: Collection[RunState] | None = None,
        agent: str | None = None,
        group: GroupId | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Runs of a session, newest first; `agent` is matched without regard to case."""
        ...

    async def unfinished_runs(self, home: str | None = None) -> list[Run]:
        """Queued, running and waiting runs of all sessions, or of a home's, oldest first."""
        ...

    async def run_steps(self, run_id: RunId) -> list[RunStep]:
        """The journal of a run, oldest first."""
        ...

    async def tokens_used(self, session: SessionId, since: datetime) -> int:
        """Tokens of the session's runs created since then."""
        ...

    async def load_deliveries(
        self, session: SessionId, *, states: Collection[DeliveryState]
    ) -> list[Delivery]:
        """The session's outbox rows in these states, oldest first."""
        ...

    async def pending_owners(self, home: str | None = None) -> list[tuple[SessionId, OwnerId]]:
        """Whose results wait in the outbox, over all sessions or a home's, without doubles."""
        ...

    async def update_deliveries(
        self,
        delivery_ids: Collection[str],
        *,
        expected: Collection[DeliveryState],
        state: DeliveryState,
        taker: str = "",
        lease_until: datetime | None = None,
    ) -> list[str]:
        """Move the rows that are in an expected state; count an attempt for each claim.

        Returns:
            The ids that were moved; a row in another state is left as it is.
        """
        ...

    async def release_claims(self, executor: str, home: str | None = None) -> int:
        """Put every claimed or handed row back to pending: their takers are gone.

        With a home only rows of its sessions are looked at.

        What was handed to this very process is acknowledged instead: the turn that had it went on.

        Returns:
            How many were put back.
        """
        ...

    async def add_shared_entry(
        self, session: SessionId, entry: SharedEntry, *, keep: int
    ) -> SharedEntry:
        """Add a note to the board; only the newest `keep` notes stay.

        Numbers only rise, also over a clearing of the board.

        Returns:
            The note with its number: its own, or the next free one above it.
        """
        ...

    async def load_shared_entries(self, session: SessionId) -> list[SharedEntry]:
        """The board, oldest first."""
        ...

    async def delete_shared_entries(
        self, session: SessionId, *, sender: str | None = None, owner: OwnerId | None = None
    ) -> int:
        """Clear the board, or what one sender (without regard to case) or one owner posted.

        Returns:
            How many notes went.
        """
        ...
