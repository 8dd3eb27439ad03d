"""Stopping tasks: one, a whole group, one that waits, and all of a turn that is cut off."""

import asyncio
from collections import Counter

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn, TurnEnd
from astrbot_plugin_subagents.manager.models import Failure
from support import core
from support.task_calls import Crew, a_task, blocks, lines, start

make_core = core.make_core


async def a_group(
    make_core: core.MakeCore, settings: Settings | None = None
) -> tuple[core.Core, Crew, Turn, dict[str, Run]]:
    """Two at work, one that waits for both, one behind it."""
    crew = Crew()
    it = await make_core(crew.script, settings=settings)
    turn = await it.turn()
    runs = await start(it, turn, a_task("a"), a_task("b"), a_task("c", "a", "b"), a_task("d", "c"))
    await crew.at_work("a")
    return it, crew, turn, {run.input: run for run in runs}


async def failures(it: core.Core, runs: dict[str, Run]) -> dict[str, str]:
    found = {text: (await it.run(run.run_id)).failure for text, run in runs.items()}
    return {text: failure.code for text, failure in found.items() if failure}


async def test_a_group_is_cancelled_by_its_id(make_core: core.MakeCore) -> None:
    it, crew, turn, runs = await a_group(make_core)
    crew.let("a")
    await it.until_over(runs["a"].run_id)

    reply = await it.call("cancel_subagent_task", turn, task_id=runs["a"].group_id)

    assert blocks(reply) == [("b", "cancelled"), ("c", "cancelled"), ("d", "cancelled")]
    assert reply.count("reason: Stopped by the main agent. [cancelled]") == 3
    assert (await it.run(runs["a"].run_id)).state is RunState.COMPLETED
    assert (await it.open()).runs.live() == []
    assert Counter(core.ended_ids(it.events)) == Counter(run.run_id for run in runs.values())


async def test_a_group_that_is_over_cannot_be_cancelled(make_core: core.MakeCore) -> None:
    it, crew, turn, runs = await a_group(make_core)
    crew.let("a", "b", "c", "d")
    await it.until_over(runs["d"].run_id)
    before = await core.snapshot(it)

    reply = await it.call("cancel_subagent_task", turn, task_id=runs["a"].group_id)

    assert f"Task {runs['a'].group_id} is already over: finished." in reply
    assert await core.snapshot(it) == before


async def test_a_task_that_waits_for_others_can_be_cancelled(make_core: core.MakeCore) -> None:
    it, crew, turn, runs = await a_group(make_core)

    reply = await it.call("cancel_subagent_task", turn, task_id=runs["c"].run_id)
    await it.until_over(runs["d"].run_id)
    crew.let("a", "b")
    await it.until_over(runs["a"].run_id, runs["b"].run_id)

    assert blocks(reply) == [("c", "cancelled")]
    assert await failures(it, runs) == {"c": "cancelled", "d": "skipped"}
    assert sorted(crew.begun) == ["a", "b"]


async def test_a_task_that_stands_in_line_can_be_cancelled(make_core: core.MakeCore) -> None:
    it, crew, turn, runs = await a_group(make_core, Settings(max_parallel_per_session=1))

    reply = await it.call("cancel_subagent_task", turn, task_id=runs["b"].run_id)
    crew.let("a")
    await it.until_over(*[run.run_id for run in runs.values()])

    assert blocks(reply) == [("b", "cancelled")]
    assert await failures(it, runs) == {"b": "cancelled", "c": "skipped", "d": "skipped"}
    assert crew.begun == ["a"]
    assert (await it.open()).runs.free_places() == 1


async def test_a_task_whose_turn_in_line_came_after_its_predecessors_can_be_cancelled(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script, settings=Settings(max_parallel_per_session=1))
    turn = await it.turn()
    a, c, b = await start(it, turn, a_task("a"), a_task("c", "a"), a_task("b"))
    crew.let("a")
    await crew.at_work("b")
    await core.settled()
    standing = lines(await it.notes(turn))

    await it.call("cancel_subagent_task", turn, task_id=c.run_id)
    crew.let("b")
    await it.until_over(b.run_id)

    assert standing["c"] == "waiting in line, place 1"
    assert [(await it.run(run.run_id)).state for run in (a, c, b)] == [
        RunState.COMPLETED,
        RunState.CANCELLED,
        RunState.COMPLETED,
    ]
    assert crew.begun == ["a", "b"]


@pytest.mark.parametrize("end", [TurnEnd.STOPPED, TurnEnd.LOST])
async def test_a_turn_that_is_cut_off_takes_its_group_with_it(
    make_core: core.MakeCore, end: TurnEnd
) -> None:
    crew = Crew()
    it = await make_core(crew.script)
    turn = await it.turn()
    tasks = [a_task("a"), a_task("b", "a"), a_task("c")]
    calling = asyncio.create_task(it.call("task", turn, tasks=tasks))
    await crew.at_work("a", "c")
    runs = {run.input: run for run in (await it.open()).runs.live()}

    await it.end(turn, end)

    assert await failures(it, runs) == dict.fromkeys("abc", "cancelled")
    stopped = Failure(code="cancelled", message="The turn that asked was stopped.")
    assert (await it.run(runs["b"].run_id)).failure == stopped
    assert blocks(await calling) == [(name, "cancelled") for name in "abc"]
    assert sorted(crew.begun) == ["a", "c"]


async def test_a_turn_that_is_cut_off_leaves_what_works_in_the_background(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn, runs = await a_group(make_core)

    await it.end(turn, TurnEnd.STOPPED)
    crew.let("a", "b", "c", "d")
    await it.until_over(runs["d"].run_id)

    assert await failures(it, runs) == {}


async def test_what_was_handed_over_to_the_background_outlives_a_turn_that_is_cut_off(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script)
    turn = await it.turn()
    tasks = [a_task("a"), a_task("b", "a")]
    calling = asyncio.create_task(it.call("task", turn, seconds_left=5, tasks=tasks))
    await crew.at_work("a")
    it.clock.advance(5)
    await calling
    runs = {run.input: run for run in (await it.open()).runs.live()}

    await it.end(turn, TurnEnd.STOPPED)
    crew.let("a", "b")
    await it.until_over(runs["b"].run_id)

    assert await failures(it, runs) == {}


async def test_a_stop_of_a_named_agent_stops_its_tasks_of_all_groups(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script)
    turn = await it.turn()
    await it.create("scout", turn)
    first = await start(it, turn, a_task("a", agent="scout"), a_task("b", "a", agent="scout"))
    other = await start(it, turn, a_task("c", agent="scout"), a_task("d"))
    await crew.at_work("a", "d")

    reply = await it.call("cancel_subagent_task", turn, subagent_name="scout")

    assert blocks(reply) == [(name, "cancelled") for name in "abc"]
    assert (await it.run(other[1].run_id)).state is RunState.RUNNING
    assert first[0].run_id in reply
    crew.let("d")
    await it.until_over(other[1].run_id)
