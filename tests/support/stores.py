"""Stores for tests, each empty and its own, and short builders of what is kept in them.

A test module takes the fixture by naming it: `store = stores.any_store`.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from astrbot_plugin_subagents.manager.models import (
    AgentName,
    ConversationId,
    Delivery,
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
from astrbot_plugin_subagents.manager.store import MemoryStore, SqlStore, Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHAT = SessionId("telegram:GroupMessage:100")
OTHER_CHAT = SessionId("telegram:GroupMessage:200")
ANN = OwnerId("ann")
BOB = OwnerId("bob")

SERVER = os.environ.get("TEST_DATABASE_URL", "")
needs_server = pytest.mark.skipif(not SERVER, reason="TEST_DATABASE_URL names no database")

_SERVERS = (pytest.param("postgres", marks=pytest.mark.postgres),) if SERVER else ()
_KINDS = ("memory", "sqlite", *_SERVERS)


@pytest.fixture(params=_KINDS)
async def any_store(
    request: pytest.FixtureRequest, tmp_path: Path, empty_file: Path
) -> AsyncIterator[Store]:
    """Each kind of store in turn, open and empty."""
    if request.param == "memory":
        async with opened(MemoryStore()) as store:
            yield store
    elif request.param == "sqlite":
        async with opened(SqlStore(shutil.copy(empty_file, tmp_path / "store.db"))) as store:
            yield store
    else:
        async with server_schema() as url, opened(SqlStore(url)) as store:
            yield store


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty SQLite store of the newest schema; copying it is quicker than making it."""
    path = tmp_path_factory.mktemp("store") / "empty.db"

    async def make() -> None:
        async with opened(SqlStore(path)):
            pass

    asyncio.run(make())
    return path


@pytest.fixture
def own_file(tmp_path: Path, empty_file: Path) -> Path:
    """The test's own empty SQLite store of the newest schema."""
    return Path(shutil.copy(empty_file, tmp_path / "store.db"))


@asynccontextmanager
async def opened[S: Store](store: S) -> AsyncIterator[S]:
    """The store, open."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def server_schema() -> AsyncIterator[str]:
    """The URL of a new schema on the server of TEST_DATABASE_URL, dropped at the end."""
    schema = f"store_{uuid4().hex}"
    await on_server(f"CREATE SCHEMA {schema}")
    try:
        yield f"{SERVER}{'&' if '?' in SERVER else '?'}search_path={schema}"
    finally:
        await on_server(f"DROP SCHEMA {schema} CASCADE")


async def on_server(statement: str) -> Any:
    """Run a statement on the server, past any store."""
    driver = import_module("asyncpg")
    connection = await driver.connect(SERVER.replace("+asyncpg", "", 1))
    try:
        return await connection.fetch(statement)
    finally:
        await connection.close()


def at(minutes: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minutes)


def a_session(session: SessionId = CHAT, **changes: Any) -> SessionRecord:
    """A session's record."""
    return replace(SessionRecord(session=session, created_at=NOON, last_active_at=NOON), **changes)


def an_agent(name: str = "Scout", **changes: Any) -> SubAgentConfig:
    """A dynamic agent with a memory of its own."""
    config = SubAgentConfig(
        name=AgentName(name),
        system_prompt="You look around.",
        owner=ANN,
        conversation=ConversationId(f"memory of {name}"),
        created_at=NOON,
    )
    return replace(config, **changes)


def a_run(run_id: str = "run1", **changes: Any) -> Run:
    """A queued run of an agent, with a conversation of its own."""
    run = Run(
        run_id=RunId(run_id),
        session=CHAT,
        agent=AgentName("Scout"),
        conversation=ConversationId(f"talk of {run_id}"),
        input="Look around.",
        owner=ANN,
        created_at=NOON,
    )
    return replace(run, **changes)


def a_step(run: Run, key: str = "1.call", **changes: Any) -> RunStep:
    """A finished tool call."""
    return replace(RunStep(run_id=run.run_id, key=key, name="search", at=NOON), **changes)


def a_message(run: Run, seq: int, text: str = "Hello.", **changes: Any) -> StoredMessage:
    """A message of the run's conversation."""
    message = StoredMessage(
        conversation=run.conversation,
        seq=seq,
        run_id=run.run_id,
        body={"role": "user", "content": text},
        at=NOON,
    )
    return replace(message, **changes)


def a_delivery(run: Run, **changes: Any) -> Delivery:
    """The outbox row of a run's end."""
    delivery = Delivery(
        delivery_id=run.run_id, session=run.session, owner=run.owner, created_at=NOON
    )
    return replace(delivery, **changes)


def a_note(seq: int, **changes: Any) -> SharedEntry:
    """A note on the board."""
    note = SharedEntry(
        seq=seq, kind="message", sender="Scout", owner=ANN, content=f"Note {seq}.", at=NOON
    )
    return replace(note, **changes)


async def a_taken_run(store: Store, run_id: str = "run1", **changes: Any) -> Run:
    """A run that is in the store and taken by an executor."""
    run = a_run(run_id, **changes)
    await store.add_runs([run])
    taken = await store.take_run(
        replace(run, state=RunState.RUNNING, executor="process 1", started_at=NOON)
    )
    assert taken is not None
    return taken
