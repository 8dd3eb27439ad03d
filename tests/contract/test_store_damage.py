"""One damaged row of a SQLite file: it is set aside and told, and all others are as before."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.fork_context import ForkContext
from astrbot_plugin_subagents.manager.models import DeliveryState, GroupId, Origin
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.turn_record import TurnCall, TurnRecord
from support import stores
from support.stores import (
    ANN,
    CHAT,
    NOON,
    OTHER_CHAT,
    a_delivery,
    a_note,
    a_run,
    a_session,
    a_taken_run,
    an_agent,
    opened,
)

empty_file = stores.empty_file

NO_TEXT = "CAST(x'ff41' AS TEXT)"
"""Bytes that are no UTF-8."""


@pytest.fixture
async def path(tmp_path: Path, empty_file: Path) -> Path:
    """A store with two of everything."""
    path = Path(shutil.copy(empty_file, tmp_path / "store.db"))
    async with opened(SqlStore(path)) as store:
        for name in ("good", "bad"):
            await store.save_agent(CHAT, an_agent(name, tools=("search",)))
            await store.add_runs([a_run(f"{name} queued")])
            run = await a_taken_run(store, name)
            await store.write_run(RunWrite(run=run, delivery=a_delivery(run)))
        for seq in (1, 2):
            await store.add_shared_entry(CHAT, a_note(seq), keep=9)
    return path


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def dump(path: Path) -> list[str]:
    """Everything in the file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        return [
            repr(row)
            for table in ("session", "subagent", "run", "delivery", "shared_entry")
            for row in connection.execute(f"SELECT * FROM {table}")
        ]


@pytest.mark.parametrize(
    "change",
    [
        "tools = '{not json'",
        "tools = '[1]'",
        "kind = 'robot'",
        "created_at = 'long ago'",
        f"system_prompt = {NO_TEXT}",
    ],
)
async def test_a_damaged_agent_is_left_out(
    path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(path, f"UPDATE subagent SET {change} WHERE name = 'bad'")
    before = dump(path)

    async with opened(SqlStore(path)) as store:
        agents = await store.load_agents(CHAT)

    assert [agent.name for agent in agents] == ["good"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "`subagent` is set aside" in caplog.text
    assert dump(path) == before


@pytest.mark.parametrize(
    "change",
    [
        "origin = '[]'",
        "origin = 'x'",
        "started_at = 'then'",
        "created_at = ''",
        "tools_used = '[3]'",
        f"input = {NO_TEXT}",
    ],
)
async def test_a_damaged_run_is_left_out_of_lists_and_refused_by_itself(
    path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(path, f"UPDATE run SET {change} WHERE run_id = 'bad'")
    before = dump(path)
    good = {"good", "good queued", "bad queued"}

    async with opened(SqlStore(path)) as store:
        unfinished = await store.unfinished_runs()
        listed = await store.list_runs(CHAT, agent="scout", limit=50)
        with pytest.raises(StoreUnavailable):
            await store.get_run(CHAT, a_run("bad").run_id)

    assert {run.run_id for run in unfinished} == {run.run_id for run in listed} == good
    assert caplog.text.count("`run` is set aside") == 2
    assert dump(path) == before


@pytest.mark.parametrize("change", ["created_at = 'x'", "lease_until = 'y'", f"taker = {NO_TEXT}"])
async def test_a_damaged_delivery_is_left_out(path: Path, change: str) -> None:
    damage(path, f"UPDATE delivery SET {change} WHERE delivery_id = 'bad'")
    before = dump(path)

    async with opened(SqlStore(path)) as store:
        rows = await store.load_deliveries(CHAT, states=tuple(DeliveryState))

    assert [row.delivery_id for row in rows] == ["good"]
    assert dump(path) == before


async def test_a_damaged_note_is_left_out(path: Path) -> None:
    damage(path, "UPDATE shared_entry SET at = 'x' WHERE seq = 2")

    async with opened(SqlStore(path)) as store:
        notes = await store.load_shared_entries(CHAT)

    assert notes == [a_note(1)]


async def test_a_damaged_turn_call_or_event_is_left_out(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls = tuple(TurnCall(tool=tool, at=NOON) for tool in ("good", "bad"))
    turn = TurnRecord(turn_id="good", session=CHAT, owner=ANN, origin=Origin(), began_at=NOON)
    async with opened(SqlStore(path)) as store:
        for turn_id in ("good", "bad"):
            await store.begin_turn(replace(turn, turn_id=turn_id, calls=calls))
            await store.add_events(
                [StoredEvent(session=CHAT, kind=turn_id, payload={}, at=NOON)],
            )
    damage(path, f"UPDATE turn SET message = {NO_TEXT} WHERE turn_id = 'bad'")
    damage(path, "UPDATE turn_call SET at = 'x' WHERE turn_id = 'good' AND tool = 'bad'")
    damage(path, "UPDATE run_event SET payload = 'x' WHERE kind = 'bad'")

    async with opened(SqlStore(path)) as store:
        turns = await store.open_turns()
        events = await store.events_after(0)

    assert turns == [replace(turn, calls=calls[:1])]
    assert [event.kind for event in events] == ["good"]
    assert caplog.text.count("is set aside, untouched") == 3


async def test_a_damaged_fork_context_is_an_error_for_itself_alone(path: Path) -> None:
    fork = ForkContext(
        group_id=GroupId("good"),
        session=CHAT,
        messages=(),
        tools=(),
        provider_id="one",
        created_at=NOON,
    )
    async with opened(SqlStore(path)) as store:
        for name in ("good", "bad"):
            await store.add_runs([], fork=replace(fork, group_id=GroupId(name)))
    damage(path, "UPDATE fork_context SET body = '[]' WHERE group_id = 'bad'")

    async with opened(SqlStore(path)) as store:
        assert await store.fork_context(CHAT, GroupId("good")) == fork
        with pytest.raises(StoreUnavailable):
            await store.fork_context(CHAT, GroupId("bad"))


async def test_a_damaged_session_is_an_error_for_itself_alone(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        await store.save_session(a_session(OTHER_CHAT))
    damage(path, f"UPDATE session SET created_at = 'x' WHERE session = '{CHAT}'")

    async with opened(SqlStore(path)) as store:
        with pytest.raises(StoreUnavailable):
            await store.load_session(CHAT)
        assert await store.load_session(OTHER_CHAT) == a_session(OTHER_CHAT)
