"""A store that fails or is slow while a group is written: all of it starts, or nothing does."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import NewTask, RunState, Turn, TurnEnd
from astrbot_plugin_subagents.manager.errors import ShuttingDown
from astrbot_plugin_subagents.manager.events import TaskEnded, TaskStarted
from astrbot_plugin_subagents.manager.models import DeliveryState
from support import core
from support.task_calls import Crew, a_fork_context, a_task, blocks, start

make_core = core.make_core

TASKS = [a_task("a"), a_task("b", "a"), a_task("c", context="fork")]


async def a_troubled_core(
    make_core: core.MakeCore,
) -> tuple[core.Core, core.TroubledStore, Crew, Turn]:
    trouble, crew = core.TroubledStore(), Crew()
    it = await make_core(crew.script, store=trouble.store)
    it.fork_context = a_fork_context
    return it, trouble, crew, await it.turn()


@pytest.mark.parametrize("background", [False, True])
async def test_a_group_that_cannot_be_stored_is_not_started_and_leaves_no_trace(
    make_core: core.MakeCore, background: bool
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    before = await core.snapshot(it)
    trouble.failing.add("add_runs")

    reply = await it.call("task", turn, tasks=TASKS, background_task=background)
    await core.settled()

    assert reply.startswith("Error: The store cannot be used: the disk is full.")
    assert "Nothing was started" in reply
    assert await core.snapshot(it) == before
    assert (turn.starts, turn.children, crew.begun) == (0, set(), [])
    manager = await it.open()
    assert (manager.runs.live(), manager.runs.free_places()) == ([], 16)
    trouble.failing.clear()
    crew.let("a", "b", "c")
    assert "3 of 3 tasks completed." in await it.call("task", turn, tasks=TASKS)


async def test_others_get_the_places_of_a_group_that_could_not_be_stored(
    make_core: core.MakeCore,
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    hold = trouble.hold("add_runs")
    many = [a_task(f"n{number}") for number in range(16)]
    failing = asyncio.create_task(it.call("task", turn, tasks=many))
    await hold.reached.wait()
    trouble.holds.clear()
    other = await it.turn("bob")
    (late,) = await start(it, other, a_task("late"))

    await trouble.inner.close()
    hold.gate.set()
    reply = await failing
    await trouble.inner.open()
    crew.let("late")
    await it.until_over(late.run_id)

    assert late.state is RunState.QUEUED
    assert reply.startswith("Error: The store cannot be used")
    assert (await it.run(late.run_id)).state is RunState.COMPLETED
    assert crew.begun == ["late"]


@pytest.mark.parametrize("after", [False, True])
async def test_a_call_that_is_cancelled_while_its_group_is_written_stops_all_of_it(
    make_core: core.MakeCore, after: bool
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    hold = trouble.hold("add_runs", after=after)
    calling = asyncio.create_task(it.call("task", turn, tasks=TASKS))
    await hold.reached.wait()

    calling.cancel()
    await core.settled()
    assert not calling.done()
    hold.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await core.settled()

    runs = await it.store.list_runs(turn.session)
    assert [run.state for run in runs] == [RunState.CANCELLED] * 3
    assert {run.failure.code for run in runs if run.failure} == {"cancelled"}
    assert crew.begun == []
    assert (await it.open()).runs.free_places() == 16
    ended = [event.run.run_id for event in it.events if isinstance(event, TaskEnded)]
    assert sorted(ended) == sorted(run.run_id for run in runs)


async def test_a_cancellation_is_not_lost_when_the_write_fails(make_core: core.MakeCore) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    hold = trouble.hold("add_runs")
    calling = asyncio.create_task(it.call("task", turn, tasks=TASKS))
    await hold.reached.wait()

    calling.cancel()
    await core.settled()
    await trouble.inner.close()
    hold.gate.set()

    with pytest.raises(asyncio.CancelledError):
        await calling
    manager = await it.open()
    assert (crew.begun, manager.runs.live(), manager.runs.free_places()) == ([], [], 16)


async def test_a_turn_that_is_cut_off_while_its_group_is_written_stops_all_of_it(
    make_core: core.MakeCore,
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    hold = trouble.hold("add_runs")
    calling = asyncio.create_task(it.call("task", turn, tasks=TASKS))
    await hold.reached.wait()

    ending = asyncio.create_task(it.end(turn, TurnEnd.STOPPED))
    await core.settled()
    assert not ending.done()
    hold.gate.set()
    await ending
    reply = await calling

    assert blocks(reply) == [(name, "cancelled") for name in "abc"]
    assert crew.begun == []


async def test_a_shutdown_while_a_group_is_written_leaves_it_to_the_next_start(
    make_core: core.MakeCore,
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    hold = trouble.hold("add_runs", after=True)
    calling = asyncio.create_task(it.call("task", turn, tasks=TASKS))
    await hold.reached.wait()

    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    hold.gate.set()
    await closing
    reply = await calling

    assert "being reloaded; these tasks go on" in reply
    assert (crew.begun, core.ended_ids(it.events)) == ([], [])
    trouble.holds.clear()
    crew = Crew()
    root = await make_core(crew.script, store=it.store, clock=it.clock)
    crew.let("a", "b", "c")
    runs = await it.store.list_runs(turn.session)
    await root.until_over(*[run.run_id for run in runs])

    told = await root.notes(await root.turn())
    assert sorted(blocks(told)) == [(name, "completed") for name in "abc"]
    events = [*it.events, *root.events]
    started = [event.run.run_id for event in events if isinstance(event, TaskStarted)]
    assert sorted(started) == sorted(run.run_id for run in runs)


async def test_a_call_that_is_cancelled_in_a_shutdown_is_cancelled(
    make_core: core.MakeCore,
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    hold = trouble.hold("add_runs", after=True)
    calling = asyncio.create_task(it.call("task", turn, tasks=TASKS))
    await hold.reached.wait()

    calling.cancel()
    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    hold.gate.set()
    await closing

    with pytest.raises(asyncio.CancelledError):
        await calling
    assert crew.begun == []


async def test_nothing_is_started_once_the_plugin_is_being_stopped(
    make_core: core.MakeCore,
) -> None:
    it, _, crew, turn = await a_troubled_core(make_core)
    manager = await it.open()
    await it.sessions.close()

    with pytest.raises(ShuttingDown):
        await manager.start_tasks([NewTask(task="a")], turn)

    assert (turn.starts, turn.children, crew.begun) == (0, set(), [])


async def test_an_end_that_could_not_be_stored_yet_does_not_hold_up_who_waits_for_it(
    make_core: core.MakeCore,
) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    a, b = await start(it, turn, a_task("a"), a_task("b", "a"))
    await crew.at_work("a")
    trouble.failing.add("write_run")
    crew.let("a")
    await crew.at_work("b")
    trouble.failing.clear()

    crew.let("b")
    await it.until_over(a.run_id, b.run_id)
    await it.end(turn)

    stored = {run.run_id: run.state for run in await it.store.list_runs(turn.session)}
    assert stored == {a.run_id: RunState.COMPLETED, b.run_id: RunState.COMPLETED}
    assert "a done" in it.host.requests[1].prompt


async def test_each_end_of_a_group_brings_its_delivery_along(make_core: core.MakeCore) -> None:
    it, trouble, crew, turn = await a_troubled_core(make_core)
    a, b = await start(it, turn, a_task("a"), a_task("b", "a"))
    crew.let("a", "b")
    await it.until_over(a.run_id, b.run_id)

    rows = await it.store.load_deliveries(turn.session, states=tuple(DeliveryState))

    assert [row.delivery_id for row in rows] == [a.run_id, b.run_id]
    assert trouble.calls.count("add_runs") == 1
