"""SqlStore: the store in a SQLite file or a PostgreSQL database.

It says for each method of the Protocol which function runs and whether it writes; the functions
are in `sql_*.py`, the two databases in `sqlite.py` and `postgres.py`.
"""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
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
from . import (
    sql_board,
    sql_deliveries,
    sql_events,
    sql_messages,
    sql_retention,
    sql_runs,
    sql_sessions,
    sql_turns,
    sql_workers,
)
from .address import FileAddress, parse_address
from .database import Database
from .postgres import PostgresDatabase
from .protocol import RunWrite, Store
from .protocol_pages import StorePages
from .sql_reading import SqlPages
from .sqlite import SqliteDatabase


class SqlStore(Store):
    """A store behind SQLAlchemy Core.

    Cancelling a call never leaves a transaction or a lock behind. A write whose caller is
    cancelled is either not begun or wholly written.
    """

    def __init__(self, address: str | Path) -> None:
        """Say where the store is; `open` connects.

        Args:
            address: The path of a SQLite file, or the URL of a PostgreSQL database. The URL is a
                secret and is in no error or log.
        """
        self._address = address
        self._database: Database | None = None
        self._closing: asyncio.Task[None] | None = None

    @override
    async def open(self) -> None:
        if self._database is not None:
            return
        self._database = _database_at(self._address)
        try:
            await self._database.open()
        except BaseException:
            await self.close()
            raise

    @override
    async def close(self) -> None:
        if self._closing is None:
            if self._database is None:
                return
            self._closing = asyncio.create_task(self._database.close())
            self._closing.add_done_callback(self._forget)
        # The caller may be cancelled, the closing is not.
        closing = self._closing
        await asyncio.wait((closing,))
        closing.result()

    def _forget(self, closing: asyncio.Task[None]) -> None:
        self._database = self._closing = None

    @property
    @override
    def pages(self) -> StorePages:
        return SqlPages(lambda: self._db)

    @property
    def _db(self) -> Database:
        if self._database is None:
            raise StoreUnavailable("it is not open")
        return self._database

    @override
    async def load_session(self, session: SessionId) -> SessionRecord | None:
        return await self._db.read(sql_sessions.load, session)

    @override
    async def save_session(self, record: SessionRecord) -> None:
        await self._db.write(sql_sessions.save, record)

    @override
    async def delete_session(self, session: SessionId) -> None:
        await self._db.write(sql_sessions.delete_all, session)

    @override
    async def idle_sessions(self, before: datetime, limit: int) -> list[SessionId]:
        return await self._db.read(sql_sessions.idle, before, limit)

    @override
    async def load_agents(self, session: SessionId) -> list[SubAgentConfig]:
        return await self._db.read(sql_sessions.load_agents, session)

    @override
    async def save_agent(self, session: SessionId, config: SubAgentConfig) -> None:
        await self._db.write(sql_sessions.save_agent, session, config)

    @override
    async def delete_agent(self, session: SessionId, config: SubAgentConfig) -> None:
        await self._db.write(sql_sessions.delete_agent, session, config)

    @override
    async def load_messages(
        self, conversation: ConversationId, *, newest: int
    ) -> list[StoredMessage]:
        return await self._db.read(sql_messages.newest, conversation, newest)

    @override
    async def last_seq(self, conversation: ConversationId) -> int:
        return await self._db.read(sql_messages.last_seq, conversation)

    @override
    async def count_messages(
        self, conversations: Collection[ConversationId]
    ) -> dict[ConversationId, int]:
        return await self._db.read(sql_messages.count, conversations)

    @override
    async def add_runs(self, runs: Sequence[Run], *, fork: ForkContext | None = None) -> None:
        await self._db.write(sql_runs.add, runs, fork)

    @override
    async def fork_context(self, session: SessionId, group_id: GroupId) -> ForkContext | None:
        return await self._db.read(sql_runs.get_fork, session, group_id)

    @override
    async def take_run(self, run: Run) -> Run | None:
        return await self._db.write(sql_runs.take, run)

    @override
    async def write_run(self, write: RunWrite) -> None:
        await self._db.write(sql_runs.write, write)

    @override
    async def get_run(self, session: SessionId, run_id: RunId) -> Run | None:
        return await self._db.read(sql_runs.get, session, run_id)

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
        return await self._db.read(
            sql_runs.of_session, session, states=states, agent=agent, group=group, limit=limit
        )

    @override
    async def unfinished_runs(self, home: str | None = None) -> list[Run]:
        return await self._db.read(sql_runs.unfinished, home)

    @override
    async def run_steps(self, run_id: RunId) -> list[RunStep]:
        return await self._db.read(sql_runs.steps, run_id)

    @override
    async def tokens_used(self, session: SessionId, since: datetime) -> int:
        return await self._db.read(sql_runs.tokens, session, since)

    @override
    async def load_deliveries(
        self, session: SessionId, *, states: Collection[DeliveryState]
    ) -> list[Delivery]:
        return await self._db.read(sql_deliveries.load, session, states)

    @override
    async def pending_owners(self, home: str | None = None) -> list[tuple[SessionId, OwnerId]]:
        return await self._db.read(sql_deliveries.pending_owners, home)

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
        return await self._db.write(
            sql_deliveries.move,
            delivery_ids,
            expected=expected,
            state=state,
            taker=taker,
            lease_until=lease_until,
        )

    @override
    async def release_claims(self, executor: str, home: str | None = None) -> int:
        return await self._db.write(sql_deliveries.release, executor, home)

    @override
    async def add_shared_entry(
        self, session: SessionId, entry: SharedEntry, *, keep: int
    ) -> SharedEntry:
        return await self._db.write(sql_board.add, session, entry, keep)

    @override
    async def load_shared_entries(self, session: SessionId) -> list[SharedEntry]:
        return await self._db.read(sql_board.load, session)

    @override
    async def delete_shared_entries(
        self, session: SessionId, *, sender: str | None = None, owner: OwnerId | None = None
    ) -> int:
        return await self._db.write(sql_board.clear, session, sender, owner)

    @override
    async def begin_turn(self, record: TurnRecord) -> None:
        await self._db.write(sql_turns.begin, record)

    @override
    async def add_turn_call(self, turn_id: str, call: TurnCall) -> None:
        await self._db.write(sql_turns.add_call, turn_id, call)

    @override
    async def end_turn(self, turn_id: str) -> None:
        await self._db.write(sql_turns.end, turn_id)

    @override
    async def open_turns(self, home: str | None = None) -> list[TurnRecord]:
        return await self._db.read(sql_turns.open_turns, home)

    @override
    async def add_events(self, events: Sequence[StoredEvent]) -> None:
        await self._db.write(sql_events.add, events)

    @override
    async def events_after(
        self,
        event_id: int,
        *,
        session: SessionId | None = None,
        run_id: RunId | None = None,
        limit: int = 500,
    ) -> list[StoredEvent]:
        return await self._db.read(
            sql_events.after, event_id, session=session, run_id=run_id, limit=limit
        )

    @override
    async def last_event_id(self) -> int:
        return await self._db.read(sql_events.last)

    @override
    async def delete_old(
        self,
        *,
        events_before: datetime,
        steps_before: datetime,
        runs_before: datetime,
        limit: int,
    ) -> int:
        return await self._db.write(
            sql_retention.delete_old,
            events_before=events_before,
            steps_before=steps_before,
            runs_before=runs_before,
            limit=limit,
        )

    @override
    async def home_of(self, session: SessionId) -> str:
        return await self._db.read(sql_workers.home_of, session)

    @override
    async def move_home(self, session: SessionId, home: str, at: datetime) -> str:
        return await self._db.write(sql_workers.move, session, home, at)

    @override
    async def adopt_homeless(self, home: str) -> int:
        return await self._db.write(sql_workers.adopt, home)

    @override
    async def find_run(self, run_id: RunId) -> Run | None:
        return await self._db.read(sql_workers.find, run_id)

    @override
    async def add_order(self, order: RunOrder) -> None:
        await self._db.write(sql_workers.add_order, order)

    @override
    async def take_orders(self, run_id: RunId) -> list[RunOrder]:
        return await self._db.write(sql_workers.take_orders, run_id)


def _database_at(address: str | Path) -> Database:
    place = parse_address(address)
    if isinstance(place, FileAddress):
        return SqliteDatabase(place.path)
    return PostgresDatabase(place.dsn)
