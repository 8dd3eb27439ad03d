"""The third part of the Store: looks over many sessions, for the people who run the bot.

The rules of `protocol.py` hold here too. Nothing is changed here. Totals count what a list would
give without its limit. Texts are searched without regard to case, as they stand.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from ..models import (
    ConversationId,
    DeliveryState,
    GroupId,
    Run,
    RunId,
    RunKind,
    RunState,
    SessionId,
    StoredMessage,
    Usage,
)

NOTHING_USED = Usage()

type SessionsOnly = Literal["all", "live", "failed"]
"""`live`: with unfinished runs; `failed`: with runs that failed since the day began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One session with the counts of its runs."""

    session: SessionId
    created_at: datetime
    last_active_at: datetime
    agents: int = 0
    """Dynamic ones."""
    running: int = 0
    queued: int = 0
    waiting: int = 0
    runs: int = 0
    failed: int = 0
    """Runs of the day that failed or timed out."""
    tokens: int = 0
    """Of the day's runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """Some sessions, the most recently active first."""

    items: Sequence[SessionSummary]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSearch:
    """Which runs are looked for; every field that is set narrows it."""

    session: SessionId | None = None
    agent: str | None = None
    """Without regard to case."""
    states: Collection[RunState] = ()
    """Empty: any."""
    kind: RunKind | None = None
    group: GroupId | None = None
    text: str = ""
    """In the task; "" is any."""
    since: datetime | None = None
    """Created then or later."""
    finished_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Some runs, the newest first."""

    items: Sequence[Run]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """What there is in the whole store."""

    sessions: int = 0
    agents: int = 0
    """Dynamic ones."""
    states: Mapping[RunState, int]
    """Unfinished runs by state; states without any may be left out."""
    ended: Mapping[RunState, int]
    """Runs that ended since the day began, by state."""
    runs: int = 0
    """Runs created since the day began."""
    usage: Usage = NOTHING_USED
    """Of the runs created since the day began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSum:
    """What the runs of one day, agent, model or session used."""

    key: str
    """The day as `YYYY-MM-DD` (UTC), the agent's, model's or session's name; "" is no agent."""
    runs: int = 0
    failed: int = 0
    """Failed or timed out."""
    usage: Usage = NOTHING_USED


type UsageBy = Literal["day", "agent", "model", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """Some messages of one run, oldest first."""

    items: Sequence[StoredMessage]
    total: int


class StorePages(Protocol):
    """What the dashboard reads; pages begin at `offset` and hold at most `limit`, at least 1."""

    async def session_page(
        self, *, text: str, only: SessionsOnly, day: datetime, offset: int, limit: int
    ) -> SessionPage:
        """Sessions whose id holds a text; `day` is when the day began."""
        ...

    async def session_summary(self, session: SessionId, *, day: datetime) -> SessionSummary | None:
        """One session, or None when nothing is kept of it."""
        ...

    async def run_page(self, search: RunSearch, *, offset: int, limit: int) -> RunPage:
        """Runs of all sessions, or of one, newest first."""
        ...

    async def store_counts(self, *, day: datetime) -> StoreCounts:
        """What there is; `day` is when the day began."""
        ...

    async def usage_sums(
        self, by: UsageBy, *, since: datetime, session: SessionId | None = None, most: int = 400
    ) -> list[UsageSum]:
        """What runs created since then used; days in their order, others by tokens, most first."""
        ...

    async def message_page(
        self, conversation: ConversationId, run_id: RunId, *, offset: int, limit: int
    ) -> MessagePage:
        """The messages that one run added to its conversation."""
        ...

    async def conversation_page(
        self, conversation: ConversationId, *, offset: int, limit: int
    ) -> MessagePage:
        """All messages of a conversation."""
        ...

    async def deliveries_of(self, run_ids: Collection[RunId]) -> dict[RunId, DeliveryState]:
        """Where the results of these runs stand; those without an outbox row are left out."""
        ...
