"""Runs that are just being written are live: who stops, resets, removes or counts sees them."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState, Turn
from astrbot_plugin_subagents.manager.models import StopReason
from support import core
from support.task_calls import Crew, a_task

make_core = core.make_core


async def being_written(
    make_core: core.MakeCore, tool: str
) -> tuple[core.Core, Turn, core.Hold, asyncio.Task[str], Crew]:
    trouble, crew = core.TroubledStore(), Crew()
    it = await make_core(crew.script, store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("add_runs")
    tasks = [a_task("a"), a_task("b", "a", agent="scout")]
    given = {"tasks": tasks} if tool == "task" else {"input": "a"}
    asking = asyncio.create_task(it.call(tool, turn, background_task=True, **given))
    await hold.reached.wait()
    return it, turn, hold, asking, crew


@pytest.mark.parametrize("tool", ["task", "transfer_to_scout"])
@pytest.mark.parametrize("how", ["stop", "reset"])
async def test_a_stop_waits_for_them_and_stops_them(
    make_core: core.MakeCore, tool: str, how: str
) -> None:
    it, turn, hold, asking, crew = await being_written(make_core, tool)
    manager = await it.open()
    work = (
        manager.stopping.stop_all_of(turn.asker, StopReason.USER)
        if how == "stop"
        else manager.forgetting.forget(turn.asker)
    )
    stopping = asyncio.ensure_future(work)
    await core.settled()
    assert not stopping.done()

    hold.gate.set()
    await asking
    await stopping
    await core.settled()

    runs = await it.store.list_runs(manager.session)
    assert {run.state for run in runs} == {RunState.CANCELLED}
    assert (manager.runs.live(), crew.begun) == ([], [])


@pytest.mark.parametrize("tool", ["task", "transfer_to_scout"])
async def test_their_agent_is_at_work_and_the_session_stays(
    make_core: core.MakeCore, tool: str
) -> None:
    it, turn, hold, asking, crew = await being_written(make_core, tool)
    manager = await it.open()

    removed = await it.call("remove_subagent", turn, name="scout")
    forgotten = await it.call("reset_subagent", turn, name="scout")
    unread = await manager.runs.results.unread_agents()

    assert "is at work" in removed
    assert "is at work" in forgotten
    assert (unread, manager.runs.is_idle()) == ({"scout"}, False)
    group = manager.runs.live()[0].group_id
    assert group is None or len(await manager.runs.group(group)) == 2
    crew.let("a", "b")
    hold.gate.set()
    await asking


async def test_a_write_that_fails_leaves_nobody_waiting(make_core: core.MakeCore) -> None:
    it, turn, hold, asking, _ = await being_written(make_core, "task")
    manager = await it.open()
    stopping = asyncio.ensure_future(manager.stopping.stop_all_of(turn.asker, StopReason.USER))
    await core.settled()
    assert isinstance(it.store, core.TroubledStore)
    await it.store.inner.close()

    hold.gate.set()

    assert (await asking).startswith("Error: The store cannot be used")
    assert (await stopping, manager.runs.live(), turn.starts) == ([], [], 0)
