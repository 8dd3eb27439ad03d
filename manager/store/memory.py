"""MemoryStore: the store in dictionaries, a public double for tests.

It keeps what it was given in this object only, over `close` and `open` too; nothing is written
anywhere. The contract tests hold it to the same behaviour as `SqlStore`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import override

from ..errors import StoreUnavailable
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
from ..run_order import RunOrder
from ..stored_event import StoredEvent
from ..turn_record import TurnCall, TurnRecord
from .memory_homes import MemoryHomes
from .memory_log import MemoryEvents, MemoryTurns
from .memory_pages import MemoryPages, MemoryTables
from .memory_retention import MemoryRetention
from .memory_runs import MemoryRuns
from .memory_tables import MemoryBoard, MemoryMessages, MemoryOutbox
from .protocol import RunWrite, Store
from .protocol_pages import StorePages
from .rows import agent_key, key_of
from .texts import cleaned


class MemoryStore(Store):
    """A store that forgets everything with its object."""

    def __init__(self) -> None:
        self._is_open = False
        self._sessions: dict[SessionId, SessionRecord] = {}
        self._agents: dict[tuple[SessionId, str], SubAgentConfig] = {}
        self._runs = MemoryRuns()
        self._messages = MemoryMessages()
        self._outbox = MemoryOutbox()
        self._board = MemoryBoard()
        self._turns = MemoryTurns()
        self._events = MemoryEvents()
        self._homes = MemoryHomes()
        self._retention = MemoryRetention(
            runs=self._runs,
            messages=self._messages,
            outbox=self._outbox,
            events=self._events,
            homes=self._homes,
        )

    @property
    @override
    def pages(self) -> StorePages:
        return MemoryPages(
            MemoryTables(
                check_open=self._check_open,
                sessions=self._sessions,
                agents=self._agents,
                runs=self._runs,
                messages=self._messages,
                outbox=self._outbox,
            )
        )

    @override
    async def open(self) -> None:
        self._is_open = True

    @override
    async def close(self) -> None:
        self._is_open = False

    @override
    async def load_session(self, session: SessionId) -> SessionRecord | None:
        self._check_open()
        return self._sessions.get(session)

    @override
    async def save_session(self, record: SessionRecord) -> None:
        self._check_open()
        self._sessions[record.session] = cleaned(record)

    @override
    async def delete_session(self, session: SessionId) -> None:
        self._check_open()
        self._messages.forget(session)
        self._runs.forget(session)
        for agent in [key for key in self._agents if key[0] == session]:
            del self._agents[agent]
        self._outbox.forget(session)
        self._board.forget(session)
        self._turns.forget(session)
        self._events.delete(lambda event: event.session == session)
        self._homes.forget(session)
        self._sessions.pop(session, None)

    @override
    async def idle_sessions(self, before: datetime, limit: int) -> list[SessionId]:
        busy = {run.session for run in await self.unfinished_runs()}
        idle = [
            record
            for record in self._sessions.values()
            if record.last_active_at < before and record.session not in busy
        ]
        idle.sort(key=lambda record: (record.last_active_at, record.session))
        return [record.session for record in idle[:limit]]

    @override
    async def load_agents(self, session: SessionId) -> list[SubAgentConfig]:
        self._check_open()
        agents = [config for key, config in self._agents.items() if key[0] == session]
        return sorted(agents, key=lambda config: config.created_at)

    @override
    async def save_agent(self, session: SessionId, config: SubAgentConfig) -> None:
        self._check_open()
        self._keep_session(session, config.created_at)
        self._agents[session, agent_key(config)] = cleaned(config)

    @override
    async def delete_agent(self, session: SessionId, config: SubAgentConfig) -> None:
        self._check_open()
        self._agents.pop((session, agent_key(config)), None)
        self._messages.forget(session, config.conversation)

    @override
    async def load_messages(
        self, conversation: ConversationId, *, newest: int
    ) -> list[StoredMessage]:
        self._check_open()
        return self._messages.newest(conversation, newest)

    @override
    async def last_seq(self, conversation: ConversationId) -> int:
        self._check_open()
        return self._messages.last_seq(conversation)

    @override
    async def count_messages(
        self, conversations: Collection[ConversationId]
    ) -> dict[ConversationId, int]:
        self._check_open()
        return self._messages.count(conversations)

    @override
    async def add_runs(self, runs: Sequence[Run], *, fork: ForkContext | None = None) -> None:
        self._check_open()
        self._runs.add(runs, fork)
        for run in runs:
            self._keep_session(run.session, run.created_at)

    @override
    async def fork_context(self, session: SessionId, group_id: GroupId) -> ForkContext | None:
        self._check_open()
        return self._runs.fork(session, group_id)

    @override
    async def take_run(self, run: Run) -> Run | None:
        self._check_open()
        return self._runs.take(run)

    @override
    async def write_run(self, write: RunWrite) -> None:
        self._check_open()
        self._runs.check(write.run)
        self._messages.add(write.run.session, write.messages)
        self._runs.write(write.run, write.steps)
        if write.delivery is not None:
            self._outbox.add(write.delivery)

    @override
    async def get_run(self, session: SessionId, run_id: RunId) -> Run | None:
        self._check_open()
        return self._runs.get(session, run_id)

    @override
    async def list_runs(
        self,
        session: SessionId,
        *,
        states: Collection[RunState] | None = None,
        agent: str | None = None,
        group: GroupId | None = None,
        limit: int = 100,
    ) -> list[Run]:
        self._check_open()
        return self._runs.newest(
            lambda run: (
                run.session == session
                and (states is None or run.state in states)
                and (agent is None or (run.agent and key_of(run.agent) == key_of(agent)))
                and (group is None or run.group_id == group)
            ),
            limit,
        )

    @override
    async def unfinished_runs(self, home: str | None = None) -> list[Run]:
        self._check_open()
        return self._runs.where(lambda run: not run.is_over and self._homes.is_of(run, home))

    @override
    async def run_steps(self, run_id: RunId) -> list[RunStep]:
        self._check_open()
        return self._runs.steps(run_id)

    @override
    async def tokens_used(self, session: SessionId, since: datetime) -> int:
        self._check_open()
        found = self._runs.where(lambda run: run.session == session and run.created_at >= since)
        return sum(run.usage.total for run in found)

    @override
    async def load_deliveries(
        self, session: SessionId, *, states: Collection[DeliveryState]
    ) -> list[Delivery]:
        self._check_open()
        return self._outbox.load(session, states)

    @override
    async def pending_owners(self, home: str | None = None) -> list[tuple[SessionId, OwnerId]]:
        self._check_open()
        return self._outbox.owners(lambda delivery: self._homes.is_of(delivery, home))

    @override
    async def update_deliveries(
        self,
        delivery_ids: Collection[str],
        *,
        expected: Collection[DeliveryState],
        state: DeliveryState,
        taker: str = "",
        lease_until: datetime | None = None,
    ) -> list[str]:
        self._check_open()
        return self._outbox.move(
            delivery_ids, expected=expected, state=state, taker=taker, lease_until=lease_until
        )

    @override
    async def release_claims(self, executor: str, home: str | None = None) -> int:
        self._check_open()
        return self._outbox.release(executor, lambda delivery: self._homes.is_of(delivery, home))

    @override
    async def add_shared_entry(
        self, session: SessionId, entry: SharedEntry, *, keep: int
    ) -> SharedEntry:
        self._check_open()
        self._keep_session(session, entry.at)
        return self._board.add(session, entry, keep)

    @override
    async def load_shared_entries(self, session: SessionId) -> list[SharedEntry]:
        self._check_open()
        return self._board.load(session)

    @override
    async def delete_shared_entries(
        self, session: SessionId, *, sender: str | None = None, owner: OwnerId | None = None
    ) -> int:
        self._check_open()
        return self._board.clear(session, sender, owner)

    @override
    async def begin_turn(self, record: TurnRecord) -> None:
        self._check_open()
        self._turns.begin(record)

    @override
    async def add_turn_call(self, turn_id: str, call: TurnCall) -> None:
        self._check_open()
        self._turns.add_call(turn_id, call)

    @override
    async def end_turn(self, turn_id: str) -> None:
        self._check_open()
        self._turns.end(turn_id)

    @override
    async def open_turns(self, home: str | None = None) -> list[TurnRecord]:
        self._check_open()
        return [record for record in self._turns.all() if self._homes.is_of(record, home)]

    @override
    async def add_events(self, events: Sequence[StoredEvent]) -> None:
        self._check_open()
        self._events.add(events)

    @override
    async def events_after(
        self,
        event_id: int,
        *,
        session: SessionId | None = None,
        run_id: RunId | None = None,
        limit: int = 500,
    ) -> list[StoredEvent]:
        self._check_open()
        return self._events.after(event_id, session=session, run_id=run_id)[:limit]

    @override
    async def last_event_id(self) -> int:
        self._check_open()
        return self._events.last()

    @override
    async def delete_old(
        self,
        *,
        events_before: datetime,
        steps_before: datetime,
        runs_before: datetime,
        limit: int,
    ) -> int:
        self._check_open()
        return self._retention.delete_old(
            events_before=events_before,
            steps_before=steps_before,
            runs_before=runs_before,
            limit=limit,
        )

    @override
    async def home_of(self, session: SessionId) -> str:
        self._check_open()
        return self._homes.of(session)

    @override
    async def move_home(self, session: SessionId, home: str, at: datetime) -> str:
        self._check_open()
        self._keep_session(session, at)
        return self._homes.move(session, home)

    @override
    async def adopt_homeless(self, home: str) -> int:
        self._check_open()
        homeless = [session for session in self._sessions if not self._homes.of(session)]
        for session in homeless:
            self._homes.move(session, home)
        return len(homeless)

    @override
    async def find_run(self, run_id: RunId) -> Run | None:
        self._check_open()
        return next(iter(self._runs.where(lambda run: run.run_id == run_id)), None)

    @override
    async def add_order(self, order: RunOrder) -> None:
        self._check_open()
        self._homes.add_order(order)

    @override
    async def take_orders(self, run_id: RunId) -> list[RunOrder]:
        self._check_open()
        return self._homes.take_orders(run_id)

    def _keep_session(self, session: SessionId, at: datetime) -> None:
        record = SessionRecord(session=session, created_at=at, last_active_at=at)
        self._sessions.setdefault(session, cleaned(record))

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreUnavailable("it is not open")
