"""A task that is not completed skips exactly those that depend on it; all others go on."""

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn
from astrbot_plugin_subagents.manager.models import Failure
from astrbot_plugin_subagents.manager.testing import Act, Fail, Say, Use
from support import core
from support.task_calls import Crew, a_task, blocks, own_text, start

make_core = core.make_core

HELD = Settings(execution_timeout=100, idle_timeout=0)


async def a_group(
    make_core: core.MakeCore, **ends: Act
) -> tuple[core.Core, Crew, Turn, dict[str, Run]]:
    """`bad` with two behind it and one behind both, beside a pair that is none of its business."""
    crew = Crew(**ends)
    it = await make_core(crew.script, settings=HELD)
    turn = await it.turn()
    runs = await start(
        it,
        turn,
        a_task("bad"),
        a_task("good"),
        a_task("next", "bad", "good"),
        a_task("far", "next"),
        a_task("fine", "good"),
    )
    await crew.at_work("bad", "good")
    return it, crew, turn, {run.input: run for run in runs}


async def states(it: core.Core, runs: dict[str, Run]) -> dict[str, RunState]:
    await it.until_over(*[run.run_id for run in runs.values()])
    return {text: (await it.run(run.run_id)).state for text, run in runs.items()}


def all_but_bad(state: RunState) -> dict[str, RunState]:
    return {
        "bad": state,
        "good": RunState.COMPLETED,
        "next": RunState.CANCELLED,
        "far": RunState.CANCELLED,
        "fine": RunState.COMPLETED,
    }


async def test_a_failure_skips_what_depends_on_it_and_what_depends_on_that(
    make_core: core.MakeCore,
) -> None:
    it, crew, _, runs = await a_group(make_core, bad=Fail(code="no_credit"))

    crew.let("bad", "good", "fine")

    assert await states(it, runs) == all_but_bad(RunState.FAILED)
    assert sorted(map(own_text, it.host.requests)) == ["bad", "fine", "good"]
    bad, next_ = runs["bad"], await it.run(runs["next"].run_id)
    assert next_.failure == Failure(
        code="skipped",
        message=f"Not started: it depends on task 'bad' ({bad.run_id}), which is failed "
        "(no_credit).",
    )
    assert (next_.started_at, next_.steps, next_.last_text) == (None, 0, "")


async def test_who_is_skipped_further_down_is_told_of_who_was_skipped_before(
    make_core: core.MakeCore,
) -> None:
    it, crew, _, runs = await a_group(make_core, bad=Fail())
    crew.let("bad", "good", "fine")
    await states(it, runs)

    far = await it.run(runs["far"].run_id)

    assert far.failure is not None
    assert (far.failure.code, "task 'next'" in far.failure.message) == ("skipped", True)
    assert "(skipped)" in far.failure.message


async def test_what_cannot_start_any_more_is_skipped_before_the_rest_is_over(
    make_core: core.MakeCore,
) -> None:
    it, crew, _, runs = await a_group(make_core, bad=Fail())

    crew.let("bad")
    await it.until_over(runs["next"].run_id, runs["far"].run_id)

    assert (await it.run(runs["good"].run_id)).state is RunState.RUNNING
    crew.let("good", "fine")
    await it.until_over(runs["fine"].run_id)


async def test_a_timeout_skips_what_depends_on_it(make_core: core.MakeCore) -> None:
    it, crew, _, runs = await a_group(make_core)
    crew.let("good", "fine")
    await it.until_over(runs["fine"].run_id)

    it.clock.advance(100)

    assert await states(it, runs) == all_but_bad(RunState.TIMED_OUT)
    failure = (await it.run(runs["next"].run_id)).failure
    assert failure is not None
    assert "'bad'" in failure.message
    assert "timed_out (timeout)" in failure.message


async def test_a_cancelled_task_skips_what_depends_on_it(make_core: core.MakeCore) -> None:
    it, crew, turn, runs = await a_group(make_core)

    reply = await it.call("cancel_subagent_task", turn, task_id=runs["bad"].run_id)
    crew.let("good", "fine")

    assert blocks(reply) == [("bad", "cancelled")]
    assert await states(it, runs) == all_but_bad(RunState.CANCELLED)
    codes = {
        text: failure.code
        for text, run in runs.items()
        if (failure := (await it.run(run.run_id)).failure)
    }
    assert codes == {"bad": "cancelled", "next": "skipped", "far": "skipped"}


async def test_time_does_not_run_out_while_a_task_waits_for_others(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script, settings=HELD)
    turn = await it.turn()
    _, late = await start(it, turn, a_task("a"), a_task("late", "a"))
    await crew.at_work("a")
    it.clock.advance(90)
    crew.let("a")
    await crew.at_work("late")

    it.clock.advance(90)
    crew.let("late")
    await it.until_over(late.run_id)

    assert (await it.run(late.run_id)).state is RunState.COMPLETED


async def test_the_reply_says_what_was_skipped_and_why(make_core: core.MakeCore) -> None:
    crew = Crew(bad=Fail(message="no credit"))
    crew.let("bad", "good")
    it = await make_core(crew.script)
    turn = await it.turn()

    reply = await it.call(
        "task", turn, tasks=[a_task("bad"), a_task("next", "bad"), a_task("good")]
    )

    assert blocks(reply) == [("bad", "FAILED"), ("next", "SKIPPED"), ("good", "completed")]
    assert "\n1 of 3 tasks completed.\n" in reply
    assert "reason: no credit [provider_error]" in reply
    assert "reason: Not started: it depends on task 'bad'" in reply
    assert "good done" in reply


@pytest.mark.parametrize("end", [Use(tool="search"), Say(text="")])
async def test_only_a_completed_task_lets_others_start(make_core: core.MakeCore, end: Act) -> None:
    crew = Crew(a=end)
    crew.let("a", "b")
    it = await make_core(crew.script)
    turn = await it.turn()

    reply = await it.call("task", turn, tasks=[a_task("a"), a_task("b", "a")])

    # a script that goes on without an end fails; an answer without words is an answer
    is_completed = isinstance(end, Say)
    assert crew.begun == (["a", "b"] if is_completed else ["a"])
    assert blocks(reply)[1] == ("b", "completed" if is_completed else "SKIPPED")


async def test_an_agent_that_is_gone_when_its_turn_comes_fails_and_skips_the_rest(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script, static=["expert"])
    turn = await it.turn()
    *_, last = await start(
        it, turn, a_task("a"), a_task("b", "a", agent="expert"), a_task("c", "b")
    )
    it.static = ()

    await it.open()
    crew.let("a")
    await it.until_over(last.run_id)

    reply = await it.call("wait_for_subagent", turn, task_id=last.group_id)
    assert blocks(reply) == [("a", "completed"), ("b", "FAILED"), ("c", "SKIPPED")]
    assert "There is no sub-agent named 'expert'. [agent_not_found]" in reply
