"""The looks over many sessions of `MemoryStore`, over its dictionaries."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import override

from ..models import (
    AgentKind,
    ConversationId,
    DeliveryState,
    Run,
    RunId,
    RunState,
    SessionId,
    SessionRecord,
    StoredMessage,
    SubAgentConfig,
    Usage,
)
from .memory_runs import MemoryRuns
from .memory_tables import MemoryMessages, MemoryOutbox
from .protocol_pages import (
    MessagePage,
    RunPage,
    RunSearch,
    SessionPage,
    SessionsOnly,
    SessionSummary,
    StoreCounts,
    StorePages,
    UsageBy,
    UsageSum,
)
from .rows import key_of

_FAILED = (RunState.FAILED, RunState.TIMED_OUT)
_ALL = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTables:
    """What is looked at."""

    check_open: Callable[[], None]
    sessions: Mapping[SessionId, SessionRecord]
    agents: Mapping[tuple[SessionId, str], SubAgentConfig]
    runs: MemoryRuns
    messages: MemoryMessages
    outbox: MemoryOutbox


class MemoryPages(StorePages):
    """What the dashboard reads of a `MemoryStore`."""

    def __init__(self, tables: MemoryTables) -> None:
        """Set it up over the tables of a store."""
        self._tables = tables

    @override
    async def session_page(
        self, *, text: str, only: SessionsOnly, day: datetime, offset: int, limit: int
    ) -> SessionPage:
        self._tables.check_open()
        found = [
            self._summary(record, day)
            for record in self._tables.sessions.values()
            if _folded(text) in _folded(record.session)
        ]
        if only == "live":
            found = [each for each in found if each.running + each.queued + each.waiting]
        elif only == "failed":
            found = [each for each in found if each.failed]
        found.sort(key=lambda each: each.session)
        found.sort(key=lambda each: each.last_active_at, reverse=True)
        return SessionPage(items=found[offset : offset + limit], total=len(found))

    @override
    async def session_summary(self, session: SessionId, *, day: datetime) -> SessionSummary | None:
        self._tables.check_open()
        record = self._tables.sessions.get(session)
        return None if record is None else self._summary(record, day)

    def _summary(self, record: SessionRecord, day: datetime) -> SessionSummary:
        runs = self._tables.runs.where(lambda run: run.session == record.session)
        states = [run.state for run in runs]
        return SessionSummary(
            session=record.session,
            created_at=record.created_at,
            last_active_at=record.last_active_at,
            agents=len([key for key in self._dynamic() if key[0] == record.session]),
            running=states.count(RunState.RUNNING),
            queued=states.count(RunState.QUEUED),
            waiting=states.count(RunState.WAITING),
            runs=len(runs),
            failed=len([run for run in runs if run.state in _FAILED and _ended(run, day)]),
            tokens=sum(run.usage.total for run in runs if run.created_at >= day),
        )

    def _dynamic(self) -> list[tuple[SessionId, str]]:
        agents = self._tables.agents.items()
        return [key for key, config in agents if config.kind is AgentKind.DYNAMIC]

    @override
    async def run_page(self, search: RunSearch, *, offset: int, limit: int) -> RunPage:
        self._tables.check_open()
        found = self._tables.runs.newest(lambda run: _is_meant(run, search), _ALL)
        return RunPage(items=found[offset : offset + limit], total=len(found))

    @override
    async def store_counts(self, *, day: datetime) -> StoreCounts:
        self._tables.check_open()
        runs = self._tables.runs.where(lambda run: True)
        today = [run for run in runs if run.created_at >= day]
        return StoreCounts(
            sessions=len(self._tables.sessions),
            agents=len(self._dynamic()),
            states=_counted(run.state for run in runs if not run.is_over),
            ended=_counted(run.state for run in runs if _ended(run, day)),
            runs=len(today),
            usage=sum((run.usage for run in today), Usage()),
        )

    @override
    async def usage_sums(
        self, by: UsageBy, *, since: datetime, session: SessionId | None = None, most: int = 400
    ) -> list[UsageSum]:
        self._tables.check_open()
        groups: dict[str, list[Run]] = defaultdict(list)
        for run in self._tables.runs.where(lambda run: run.created_at >= since):
            if session is None or run.session == session:
                groups[_key(run, by)].append(run)
        sums = [_sum(key, runs) for key, runs in sorted(groups.items())]
        if by != "day":
            sums.sort(key=lambda each: each.usage.total, reverse=True)
        return sums[:most]

    @override
    async def message_page(
        self, conversation: ConversationId, run_id: RunId, *, offset: int, limit: int
    ) -> MessagePage:
        self._tables.check_open()
        found = self._tables.messages.newest(conversation, _ALL)
        return _page([each for each in found if each.run_id == run_id], offset, limit)

    @override
    async def conversation_page(
        self, conversation: ConversationId, *, offset: int, limit: int
    ) -> MessagePage:
        self._tables.check_open()
        return _page(self._tables.messages.newest(conversation, _ALL), offset, limit)

    @override
    async def deliveries_of(self, run_ids: Collection[RunId]) -> dict[RunId, DeliveryState]:
        self._tables.check_open()
        return self._tables.outbox.states(run_ids)


def _is_meant(run: Run, search: RunSearch) -> bool:
    agent_key = None if run.agent is None else key_of(run.agent)
    return (
        (search.session is None or run.session == search.session)
        and (search.agent is None or agent_key == key_of(search.agent))
        and (not search.states or run.state in search.states)
        and (search.kind is None or run.kind is search.kind)
        and (search.group is None or run.group_id == search.group)
        and (_folded(search.text) in _folded(run.input))
        and (search.since is None or run.created_at >= search.since)
        and (search.finished_since is None or _ended(run, search.finished_since))
    )


def _ended(run: Run, since: datetime) -> bool:
    return run.finished_at is not None and run.finished_at >= since


def _folded(text: str) -> str:
    """A text as it is searched: Latin letters without regard to case."""
    return "".join(char.lower() if char.isascii() else char for char in text)


def _counted(states: Iterable[RunState]) -> dict[RunState, int]:
    counts: dict[RunState, int] = defaultdict(int)
    for state in states:
        counts[state] += 1
    return dict(counts)


def _key(run: Run, by: UsageBy) -> str:
    match by:
        case "day":
            return run.created_at.astimezone(UTC).date().isoformat()
        case "agent":
            return run.agent or ""
        case "model":
            return run.model
        case "session":
            return run.session


def _sum(key: str, runs: Sequence[Run]) -> UsageSum:
    return UsageSum(
        key=key,
        runs=len(runs),
        failed=len([run for run in runs if run.state in _FAILED]),
        usage=sum((run.usage for run in runs), Usage()),
    )


def _page(found: Sequence[StoredMessage], offset: int, limit: int) -> MessagePage:
    return MessagePage(items=found[offset : offset + limit], total=len(found))
