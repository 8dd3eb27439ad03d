"""One damaged row switches nothing off but itself."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager import RunState, SessionId, StopReason, TurnEnd
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from support import core, stores

make_core = core.make_core
empty_file = stores.empty_file
own_file = stores.own_file


def damage(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(statement).rowcount == 1


async def cut_off(make_core: core.MakeCore, file: Path) -> tuple[core.Core, list[str]]:
    """A bot that was closed while two chats each had a run at work."""
    it = await make_core(says(Hang()), store=SqlStore(file))
    run_ids = []
    for session in ("good", "bad"):
        turn = await it.turn(session=session)
        await it.create("scout", turn)
        reply = await it.call("transfer_to_scout", turn, input="x", background_task=True)
        run_ids.append(core.task_id(reply))
    await core.settled()
    await it.sessions.close()
    return it, run_ids


async def again(make_core: core.MakeCore, it: core.Core, file: Path, executor: str) -> core.Core:
    """The bot, started again on the same store."""
    return await make_core(
        host=FakeHost(says(Say(text="done"))),
        store=SqlStore(file),
        clock=it.clock,
        executor=executor,
    )


@pytest.mark.parametrize("executor", ["process1", "process2"])
@pytest.mark.parametrize("change", ["origin = 'x'", "created_at = 'x'", "started_at = 'x'"])
async def test_a_damaged_run_is_set_aside_and_the_others_go_on(
    make_core: core.MakeCore,
    own_file: Path,
    caplog: pytest.LogCaptureFixture,
    executor: str,
    change: str,
) -> None:
    it, (good, bad) = await cut_off(make_core, own_file)
    damage(own_file, f"UPDATE run SET {change} WHERE run_id = '{bad}'")

    root = await again(make_core, it, own_file, executor)

    if executor == "process1":
        await root.until_over(good)
    assert good in await root.notes(await root.turn(session="good"))
    turn = await root.turn(session="bad")
    assert await root.create("helper", turn)
    assert caplog.text.count("`run` is set aside") == 1


async def test_a_session_that_cannot_be_read_keeps_its_run_and_no_other_is_touched(
    make_core: core.MakeCore, own_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    it, (good, bad) = await cut_off(make_core, own_file)
    damage(own_file, "UPDATE session SET created_at = 'x' WHERE session = 'bad'")

    root = await again(make_core, it, own_file, "process1")

    await root.until_over(good)
    assert (await root.run(good, "good")).state is RunState.COMPLETED
    with pytest.raises(StoreUnavailable):
        await root.open("bad")
    assert f"Run {bad} is set aside and not taken up" in caplog.text
    assert len(await root.store.list_runs(SessionId("bad"))) == 1


async def test_a_session_with_a_damaged_agent_loads_without_it(
    make_core: core.MakeCore, own_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    it, _ = await cut_off(make_core, own_file)
    damage(own_file, "UPDATE subagent SET tools = '{' WHERE session = 'bad'")

    root = await again(make_core, it, own_file, "process2")

    assert (await root.open("bad")).agents() == []
    assert [agent.name for agent in (await root.open("good")).agents()] == ["scout"]
    assert "`subagent` is set aside" in caplog.text


async def test_a_damaged_result_does_not_hold_up_the_other_results(
    make_core: core.MakeCore, own_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    it = await make_core(says(Say(text="done")), store=SqlStore(own_file))
    turn = await it.turn()
    await it.create("scout", turn)
    run_ids = []
    for _ in range(2):
        reply = await it.call("transfer_to_scout", turn, input="x", background_task=True)
        run_ids.append(core.task_id(reply))
        await it.until_over(run_ids[-1])
    await it.end(turn, TurnEnd.LOST)
    await it.sessions.close()
    damage(own_file, f"UPDATE run SET origin = 'x' WHERE run_id = '{run_ids[0]}'")

    root = await again(make_core, it, own_file, "process2")
    turn = await root.turn()
    notes = await root.notes(turn)
    await root.end(turn)

    assert (run_ids[0] in notes, run_ids[1] in notes) == (False, True)
    assert f"The result of task {run_ids[0]} is set aside" in caplog.text


async def test_a_damaged_session_does_not_keep_the_others_from_expiring(
    make_core: core.MakeCore, own_file: Path
) -> None:
    it = await make_core(store=SqlStore(own_file))
    for session in ("bad", "old"):
        turn = await it.turn(session=session)
        await it.create("scout", turn)
        it.clock.advance(1)
        await it.sessions.end_all(turn.session, reason=StopReason.USER)
    await it.sessions.close()
    damage(own_file, "UPDATE session SET created_at = 'x' WHERE session = 'bad'")
    it.clock.advance(40 * 86_400)

    store = core.TroubledStore(SqlStore(own_file))
    deleted = store.hold("delete_session", after=True)
    deleted.gate.set()
    root = await make_core(store=store.store, clock=it.clock)
    async with asyncio.timeout(core.LONG):
        await deleted.reached.wait()

    assert await root.store.load_session(SessionId("old")) is None
    assert await root.store.load_agents(SessionId("bad")) != []
