"""Results of a group: near the host's time limit, waited for, read, and delivered once together."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Turn, TurnEnd
from astrbot_plugin_subagents.manager.testing import Say
from support import core
from support.task_calls import Crew, a_task, blocks, group_of, lines, runs_of, start

make_core = core.make_core


async def near_the_limit(
    make_core: core.MakeCore,
) -> tuple[core.Core, Crew, Turn, str, dict[str, Run]]:
    """A call that had to return when one of its three tasks was over."""
    crew = Crew()
    it = await make_core(crew.script)
    turn = await it.turn()
    tasks = [a_task("late"), a_task("early"), a_task("last", "late")]
    calling = asyncio.create_task(it.call("task", turn, seconds_left=45, tasks=tasks))
    await crew.at_work("late", "early")
    crew.let("early")
    await core.settled()
    it.clock.advance(45)
    reply = await calling
    return it, crew, turn, reply, {run.input: run for run in await runs_of(it, reply)}


async def test_near_the_time_limit_there_are_finished_results_and_ids_of_the_rest(
    make_core: core.MakeCore,
) -> None:
    it, _, turn, reply, runs = await near_the_limit(make_core)

    assert blocks(reply) == [("early", "completed")]
    assert lines(reply).keys() == {"late", "last"}
    assert lines(reply)["last"] == f"waiting for {runs['late'].run_id}"
    assert "1 of 3 tasks completed." in reply
    assert "Not finished (45 s waited at most)" in reply
    assert {run.group_id for run in runs.values()} == {group_of(reply)}
    assert turn.children == set()
    assert [run.background for run in (await it.open()).runs.live()] == [True, True]


async def test_the_rest_of_a_group_is_delivered_together_and_once(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn, _, runs = await near_the_limit(make_core)
    await it.end(turn)
    crew.let("late")
    await it.until_over(runs["late"].run_id)

    between = await it.turn()
    told_between = await it.notes(between)
    await it.end(between)
    crew.let("last")
    await it.until_over(runs["last"].run_id)
    after = await it.turn()
    told = await it.notes(after)
    await it.end(after)

    assert blocks(told_between) == []
    assert lines(told_between).keys() == {"last"}
    assert blocks(told) == [("late", "completed"), ("last", "completed")]
    assert "early done" not in told
    assert await it.notes(await it.turn()) == ""


async def test_what_the_turn_never_read_of_a_group_comes_with_the_rest(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn, _, runs = await near_the_limit(make_core)
    await it.end(turn, TurnEnd.LOST)
    before = await it.notes(await it.turn())

    crew.let("late", "last")
    await it.until_over(runs["last"].run_id)

    assert blocks(before) == []
    assert [label for label, _ in blocks(await it.notes(await it.turn()))] == [
        "early",
        "late",
        "last",
    ]


async def test_one_group_does_not_hold_back_another(make_core: core.MakeCore) -> None:
    it, crew, turn, _, runs = await near_the_limit(make_core)
    (other,) = await start(it, turn, a_task("other"))
    await it.end(turn)
    crew.let("other", "late")
    await it.until_over(other.run_id, runs["late"].run_id)

    assert blocks(await it.notes(await it.turn())) == [("other", "completed")]


async def test_a_whole_group_is_awaited_by_its_id(make_core: core.MakeCore) -> None:
    it, crew, turn, _, runs = await near_the_limit(make_core)
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=runs["late"].group_id))
    await core.settled()
    crew.let("late")
    await core.settled()
    assert not waiting.done()

    crew.let("last")

    assert [label for label, _ in blocks(await waiting)] == ["late", "early", "last"]


async def test_a_wait_for_any_of_a_group_ends_with_the_first(make_core: core.MakeCore) -> None:
    crew = Crew()
    it = await make_core(crew.script)
    turn = await it.turn()
    first, *_ = await start(it, turn, a_task("a"), a_task("b"), a_task("c", "a"))
    await crew.at_work("a", "b")
    waiting = asyncio.create_task(
        it.call("wait_for_subagent", turn, task_id=[first.group_id], mode="any")
    )
    await core.settled()
    assert not waiting.done()

    crew.let("b")
    reply = await waiting

    assert blocks(reply) == [("b", "completed")]
    assert lines(reply).keys() == {"a", "c"}


async def test_a_group_and_one_of_its_tasks_in_one_wait_are_told_once(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn, _, runs = await near_the_limit(make_core)
    crew.let("late", "last")

    reply = await it.call(
        "wait_for_subagent", turn, task_id=[runs["last"].run_id, runs["last"].group_id]
    )

    assert [label for label, _ in blocks(reply)] == ["last", "late", "early"]


async def test_each_result_of_a_group_can_be_read_in_full_by_its_own_id(
    make_core: core.MakeCore,
) -> None:
    crew = Crew(a=Say(text="x" * 50_000))
    crew.let("a", "b")
    it = await make_core(crew.script)
    turn = await it.turn()
    reply = await it.call("task", turn, tasks=[a_task("a"), a_task("b")])
    a, b = await runs_of(it, reply)

    whole = await it.call("read_subagent_result", turn, task_id=a.run_id, limit=100_000)

    assert "x" * 50_000 in whole
    assert "b done" in await it.call("read_subagent_result", turn, task_id=b.run_id)
    assert "x" * 50_000 not in reply
    error = await it.call("read_subagent_result", turn, task_id=a.group_id)
    assert f"There is no task '{a.group_id}'" in error


@pytest.mark.parametrize("tool", ["wait_for_subagent", "cancel_subagent_task"])
async def test_another_users_group_is_refused_and_an_admins_turn_may(
    make_core: core.MakeCore, tool: str
) -> None:
    it, crew, turn, _, runs = await near_the_limit(make_core)
    group = runs["late"].group_id
    bob, admin = await it.turn("bob"), await it.turn("root", is_admin=True)
    before = await core.snapshot(it)

    refused = await it.call(tool, bob, task_id=group)

    assert refused.startswith(f"Error: Task {group} belongs to another user.")
    assert await core.snapshot(it) == before
    if tool == "wait_for_subagent":
        crew.let("late", "last")
    allowed = await it.call(tool, admin, task_id=group)
    expected = ["late", "last"] if tool == "cancel_subagent_task" else ["late", "early", "last"]
    assert [label for label, _ in blocks(allowed)] == expected
    assert (await it.run(runs["late"].run_id)).is_over

    # whoever else read it took it from nobody
    await it.end(turn)
    assert [label for label, _ in blocks(await it.notes(await it.turn()))] == ["late", "last"]


async def test_a_group_of_another_chat_is_not_there(make_core: core.MakeCore) -> None:
    it, _, _, _, runs = await near_the_limit(make_core)
    elsewhere = await it.turn(session="elsewhere")

    for tool in ("wait_for_subagent", "cancel_subagent_task"):
        reply = await it.call(tool, elsewhere, task_id=runs["late"].group_id)
        assert reply.startswith(f"Error: There is no task '{runs['late'].group_id}'.")


async def test_what_a_cancelled_group_had_is_not_delivered_a_second_time(
    make_core: core.MakeCore,
) -> None:
    it, _, turn, _, runs = await near_the_limit(make_core)
    await it.call("cancel_subagent_task", turn, task_id=runs["late"].group_id)
    await it.end(turn)

    assert await it.notes(await it.turn()) == ""
    assert (await it.run(runs["last"].run_id)).state is RunState.CANCELLED
