"""MemoryStore: the store in dictionaries, a public double for tests.

It keeps what it was given in this object only, over `close` and `open` too; nothing is written
anywhere. The contract tests hold it to the same behaviour as `SqlStore`.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import override

from ..errors import LostRun, StoreUnavailable
from ..models import (
    ConversationId,
    Delivery,
    DeliveryState,
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
from .codec_runs import RUN_FIXED
from .memory_tables import MemoryBoard, MemoryMessages, MemoryOutbox, refuse_known
from .protocol import RunWrite, Store
from .rows import agent_key, key_of
from .texts import cleaned


class MemoryStore(Store):
    """A store that forgets everything with its object."""

    def __init__(self) -> None:
        self._is_open = False
        self._sessions: dict[SessionId, SessionRecord] = {}
        self._agents: dict[tuple[SessionId, str], SubAgentConfig] = {}
        self._runs: dict[RunId, Run] = {}
        self._steps: dict[RunId, dict[str, RunStep]] = {}
        self._messages = MemoryMessages()
        self._outbox = MemoryOutbox()
        self._board = MemoryBoard()

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
        for run in await self.list_runs(session, limit=len(self._runs)):
            del self._runs[run.run_id]
            self._steps.pop(run.run_id, None)
        for agent in [key for key in self._agents if key[0] == session]:
            del self._agents[agent]
        self._outbox.forget(session)
        self._board.clear(session)
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
    async def add_runs(self, runs: Sequence[Run]) -> None:
        self._check_open()
        new = {run.run_id: cleaned(run) for run in runs}
        refuse_known(len(new) < len(runs) or not self._runs.keys().isdisjoint(new))
        for run in runs:
            self._keep_session(run.session, run.created_at)
        self._runs.update(new)

    @override
    async def take_run(self, run: Run) -> Run | None:
        self._check_open()
        stored = self._runs.get(run.run_id)
        if stored is None or stored.is_over:
            return None
        taken = replace(
            stored,
            state=run.state,
            executor=run.executor,
            started_at=run.started_at,
            fence=stored.fence + 1,
        )
        self._runs[run.run_id] = cleaned(taken)
        return self._runs[run.run_id]

    @override
    async def write_run(self, write: RunWrite) -> None:
        self._check_open()
        run = write.run
        stored = self._runs.get(run.run_id)
        if stored is None or stored.is_over or stored.fence != run.fence:
            raise LostRun(run.run_id)
        self._messages.add(run.session, write.messages)
        fixed = {name: getattr(stored, name) for name in RUN_FIXED}
        self._runs[run.run_id] = cleaned(replace(run, **fixed))
        for step in write.steps:
            self._steps.setdefault(step.run_id, {})[step.key] = cleaned(step)
        if write.delivery is not None:
            self._outbox.add(write.delivery)

    @override
    async def get_run(self, session: SessionId, run_id: RunId) -> Run | None:
        self._check_open()
        run = self._runs.get(run_id)
        return run if run is not None and run.session == session else None

    @override
    async def list_runs(
        self,
        session: SessionId,
        *,
        states: Collection[RunState] | None = None,
        agent: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        self._check_open()
        runs = [
            run
            for run in self._runs.values()
            if run.session == session
            and (states is None or run.state in states)
            and (agent is None or (run.agent and key_of(run.agent) == key_of(agent)))
        ]
        runs.reverse()  # Of those made at one time the newest is the one added last.
        return sorted(runs, key=lambda run: run.created_at, reverse=True)[:limit]

    @override
    async def unfinished_runs(self) -> list[Run]:
        self._check_open()
        runs = [run for run in self._runs.values() if not run.is_over]
        return sorted(runs, key=lambda run: run.created_at)

    @override
    async def run_steps(self, run_id: RunId) -> list[RunStep]:
        self._check_open()
        return list(self._steps.get(run_id, {}).values())

    @override
    async def tokens_used(self, session: SessionId, since: datetime) -> int:
        self._check_open()
        return sum(
            run.usage.total
            for run in self._runs.values()
            if run.session == session and run.created_at >= since
        )

    @override
    async def load_deliveries(
        self, session: SessionId, *, states: Collection[DeliveryState]
    ) -> list[Delivery]:
        self._check_open()
        return self._outbox.load(session, states)

    @override
    async def pending_owners(self) -> list[tuple[SessionId, OwnerId]]:
        self._check_open()
        return self._outbox.owners()

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
    async def release_claims(self) -> int:
        self._check_open()
        return self._outbox.release()

    @override
    async def add_shared_entry(self, session: SessionId, entry: SharedEntry, *, keep: int) -> None:
        self._check_open()
        self._board.add(session, entry, keep)
        self._keep_session(session, entry.at)

    @override
    async def load_shared_entries(self, session: SessionId) -> list[SharedEntry]:
        self._check_open()
        return self._board.load(session)

    @override
    async def delete_shared_entries(self, session: SessionId, *, sender: str | None = None) -> int:
        self._check_open()
        return self._board.clear(session, sender)

    def _keep_session(self, session: SessionId, at: datetime) -> None:
        record = SessionRecord(session=session, created_at=at, last_active_at=at)
        self._sessions.setdefault(session, cleaned(record))

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreUnavailable("it is not open")
