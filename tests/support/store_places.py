"""Stores that are looked after while nobody has them open: a file and a PostgreSQL schema in turn.

A test module takes the fixture by naming it: `place = store_places.any_place`.
"""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.fork_context import ForkContext
from astrbot_plugin_subagents.manager.models import GroupId, Origin, Run, RunState
from astrbot_plugin_subagents.manager.runs.state import advance
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.turn_record import TurnCall, TurnRecord

from .stores import (
    ANN,
    CHAT,
    NOON,
    SERVER,
    a_delivery,
    a_message,
    a_note,
    a_step,
    a_taken_run,
    an_agent,
    on_server,
    opened,
    server_schema,
)

GROUP = GroupId("group 1")

TABLES = (
    "session",
    "subagent",
    "run",
    "run_step",
    "message",
    "fork_context",
    "delivery",
    "shared_entry",
    "turn",
    "turn_call",
    "run_event",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """Where a store is, and a way to its rows past all code of ours."""

    address: str | Path
    removed: Path
    """Where removed rows are to go."""

    @property
    def is_file(self) -> bool:
        """Whether it is a SQLite file."""
        return isinstance(self.address, Path)

    async def change(self, statement: str) -> None:
        """Run one statement that begins with UPDATE, DELETE FROM or INSERT INTO and a table."""
        if isinstance(self.address, Path):
            with closing(sqlite3.connect(self.address)) as connection, connection:
                assert connection.execute(statement).rowcount > 0
            return
        for verb in ("UPDATE", "DELETE FROM", "INSERT INTO"):
            statement = statement.replace(f"{verb} ", f"{verb} {self.schema}.", 1)
        await on_server(statement)

    async def count(self, table: str) -> int:
        """How many rows a table has."""
        if isinstance(self.address, Path):
            with closing(sqlite3.connect(self.address)) as connection:
                return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        [[number]] = await on_server(f"SELECT count(*) FROM {self.schema}.{table}")
        return int(number)

    @property
    def schema(self) -> str:
        """The schema on the server."""
        return str(self.address).rpartition("search_path=")[2]


@pytest.fixture(
    params=["sqlite", *([pytest.param("postgres", marks=pytest.mark.postgres)] if SERVER else [])]
)
async def any_place(
    request: pytest.FixtureRequest, tmp_path: Path, empty_file: Path
) -> AsyncIterator[StorePlace]:
    """Each kind of database in turn, with a store of the newest schema that holds nothing."""
    removed = tmp_path / "removed.jsonl"
    if request.param == "sqlite":
        path = Path(shutil.copy(empty_file, tmp_path / "store.db"))
        yield StorePlace(address=path, removed=removed)
        return
    async with server_schema() as url:
        async with opened(SqlStore(url)):
            pass
        yield StorePlace(address=url, removed=removed)


async def fill(address: str | Path) -> None:
    """Keep one row of each kind in a store, and three messages; all belongs together."""
    turn = TurnRecord(turn_id="turn 1", session=CHAT, owner=ANN, origin=Origin(), began_at=NOON)
    fork = ForkContext(
        group_id=GROUP,
        session=CHAT,
        messages=({"role": "system", "content": "Be kind."},),
        tools=(),
        provider_id="one",
        created_at=NOON,
    )
    async with opened(SqlStore(address)) as store:
        await store.save_agent(CHAT, an_agent())
        run = await a_taken_run(store, group_id=GROUP)
        await store.add_runs([], fork=fork)
        await store.write_run(
            RunWrite(
                run=completed(run),
                steps=[a_step(run)],
                messages=[a_message(run, seq, f"Привет {seq} 你好") for seq in (1, 2, 3)],
                delivery=a_delivery(run),
            )
        )
        await store.add_shared_entry(CHAT, a_note(1), keep=9)
        await store.begin_turn(turn)
        await store.add_turn_call(turn.turn_id, TurnCall(tool="task", reply="Begun.", at=NOON))
        await store.add_events(
            [StoredEvent(session=CHAT, run_id=run.run_id, kind="run", payload={"n": 1}, at=NOON)]
        )


def completed(run: Run) -> Run:
    """The run after it has come to its end."""
    return advance(run, RunState.COMPLETED, finished_at=NOON, last_text="Done. \x00 ☕")


def exists(path: Path) -> bool:
    """Whether there is such a file."""
    return path.exists()
