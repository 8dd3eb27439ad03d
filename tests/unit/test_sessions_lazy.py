"""A chat in which nothing is kept leaves no trace, and no turn waits for a store that is locked."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager import SessionId
from astrbot_plugin_subagents.manager.models import SessionRecord
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.testing import EPOCH
from support import core, stores

make_core = core.make_core
empty_file = stores.empty_file
own_file = stores.own_file

CHAT = SessionId("chat")
READS = frozenset(
    {
        "load_session",
        "load_agents",
        "load_deliveries",
        "load_shared_entries",
        "tokens_used",
        "count_messages",
        "list_runs",
        "get_run",
    }
)


async def record_of(it: core.Core) -> SessionRecord | None:
    return await it.store.load_session(CHAT)


async def test_turns_in_which_nothing_is_kept_write_nothing(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    trouble.calls.clear()

    for _ in range(5):
        turn = await it.turn()
        await it.notes(turn)
        await it.call("list_subagents", turn)
        await it.end(turn)
        it.clock.advance(3600)

    assert set(trouble.calls) <= READS
    assert await record_of(it) is None


@pytest.mark.parametrize("first", ["agent", "run", "note", "switch"])
async def test_the_first_thing_that_is_kept_makes_the_record(
    make_core: core.MakeCore, first: str
) -> None:
    it = await make_core(static=("guide",))
    turn = await it.turn()
    it.clock.advance(60)

    match first:
        case "agent":
            await it.create("scout", turn)
        case "run":
            await it.call("transfer_to_guide", turn, input="Go.")
        case "note":
            await (await it.open()).board.post("message", "Hello.", turn)
        case _:
            await (await it.open()).steering.switch_memory(False, turn.asker, private=True)

    record = await record_of(it)
    assert record is not None
    assert record.last_active_at in (EPOCH, EPOCH + timedelta(seconds=60))


async def test_activity_is_noted_once_there_is_a_record(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    it.clock.advance(3600)

    await it.end(turn)

    record = await record_of(it)
    assert record is not None
    assert record.last_active_at == it.clock.now()


async def test_turns_begin_and_read_while_another_program_writes_to_the_file(
    make_core: core.MakeCore, own_file: Path
) -> None:
    it = await make_core(store=SqlStore(own_file))
    old = await it.turn()
    await it.create("scout", old)
    run_id = core.task_id(await it.call("transfer_to_scout", old, input="x", background_task=True))
    await it.until_over(run_id)

    with closing(sqlite3.connect(own_file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with asyncio.timeout(core.LONG):
            turns = [await it.turn(session=f"new{number}") for number in range(10)]
            notes = [await it.notes(turn) for turn in turns]
            of_old = await it.notes(await it.turn())

    assert set(notes) == {""}
    assert run_id in of_old
