"""Runs of a process that is gone are taken up by the next one, within limits, and end as any."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings, StopReason, TurnEnd
from astrbot_plugin_subagents.manager.events import ToolStarted
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.models import (
    Failure,
    MessageBody,
    RunId,
    RunStep,
    SessionId,
    StepState,
)
from astrbot_plugin_subagents.manager.runs.resume import resume_note
from astrbot_plugin_subagents.manager.runs.taking_up import MOST_TAKES
from astrbot_plugin_subagents.manager.sessions import Sessions
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Use, says
from support import core
from support.asking import QUESTION, asking
from support.bringing import Stage, a_stage
from support.lost_turns import cut_off, killed, restarted, rewrite
from support.task_calls import Crew, a_task, start

make_core = core.make_core

CHAT = SessionId("chat")
DAY = timedelta(days=1).total_seconds()


async def failure_of(stage: Stage, run_id: str) -> Failure | None:
    return (await stage.it.run(run_id)).failure


async def state_of(stage: Stage, run_id: str) -> RunState:
    return (await stage.it.run(run_id)).state


async def ended_turn(stage: Stage, *tasks: str) -> list[str]:
    """Let a turn end that has begun tasks, and kill the bot; their ids."""
    ids = await stage.after_turn(*tasks)
    await killed(stage)
    return ids


async def test_a_run_goes_on_in_the_next_process_and_wakes_its_owner(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await ended_turn(stage, "one")

    again = await restarted(make_core, stage)
    await again.let("one")

    run = await again.it.run(run_id)
    assert (run.state, run.executor, run.fence) == (RunState.COMPLETED, "process2", 2)
    assert [(errand.way, len(errand.runs)) for errand in again.messenger.begun] == [(Way.WAKE, 1)]


async def test_what_stood_in_line_keeps_its_order(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    ids = await ended_turn(stage, "one", "two", "three")

    again = await restarted(make_core, stage)
    await again.let("one", "two", "three")

    assert again.crew.begun == ["one", "two", "three"]
    fences = [(await again.it.run(run_id)).fence for run_id in ids]
    assert fences == [2, 1, 1]


async def test_a_foreground_run_becomes_a_background_one_and_wakes(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    calling = asyncio.create_task(stage.it.call("transfer_to_ann", turn, input="one"))
    await stage.crew.at_work("one")
    await killed(stage)
    run_id = core.task_id(await calling)
    await rewrite(stage, run_id, background=False)

    again = await restarted(make_core, stage)
    await again.let("one")

    assert (await again.it.run(run_id)).background
    assert [errand.way for errand in again.messenger.begun] == [Way.WAKE]


async def test_a_call_under_way_is_told_as_unknown_with_its_arguments(
    make_core: core.MakeCore,
) -> None:
    gate = asyncio.Event()
    script = says(Use(tool="search"), Use(tool="write", arguments='{"path": "/a"}', gate=gate))
    stage = await a_stage(make_core, host=FakeHost(script))
    await stage.after_turn("one")
    await stage.it.until(lambda event: isinstance(event, ToolStarted), count=2)
    await killed(stage)

    again = await restarted(make_core, stage)
    await again.let("one")

    (request,) = again.it.host.requests
    assert '- write {"path": "/a"}: outcome unknown;' in request.notes[-1]
    assert "- search" not in request.notes[-1]
    assert [body["role"] for body in request.resume] == ["user", "assistant", "tool"]


async def test_an_open_question_is_asked_again_and_its_answer_is_told(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core)
    (run_id,) = await stage.after_turn("ask")
    await core.settled()
    await killed(stage)

    again = await restarted(make_core, stage)
    waiting = await again.it.run(run_id)
    turn = await again.it.turn()
    await again.it.call("answer_subagent", turn, task_id=run_id, answer="The red one.")
    await again.let("ask")

    assert (waiting.state, waiting.question) == (RunState.WAITING, QUESTION)
    assert [way for way, _ in again.messenger.sent] == [Way.ASK]
    (request,) = again.it.host.requests
    assert QUESTION in request.notes[-1]
    assert "The red one." in request.notes[-1]
    assert await state_of(again, run_id) is RunState.COMPLETED


@pytest.mark.parametrize("late", [False, True])
async def test_a_run_that_was_asked_for_more_than_a_day_ago_ends(
    make_core: core.MakeCore, late: bool
) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await ended_turn(stage, "one")
    stage.it.clock.advance(DAY + late)

    again = await restarted(make_core, stage)
    await again.let("one")

    failure = await failure_of(again, run_id)
    assert (failure is not None and failure.code == "interrupted") is late
    expected = RunState.INTERRUPTED if late else RunState.COMPLETED
    assert await state_of(again, run_id) is expected
    assert again.crew.begun == ([] if late else ["one"])
    assert [len(errand.runs) for errand in again.messenger.begun] == [1]


@pytest.mark.parametrize(("takes", "goes_on"), [(MOST_TAKES - 1, True), (MOST_TAKES, False)])
async def test_a_run_that_may_bring_the_bot_down_is_taken_up_only_so_often(
    make_core: core.MakeCore, takes: int, goes_on: bool
) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await ended_turn(stage, "one")
    await rewrite(stage, run_id, fence=takes)

    again = await restarted(make_core, stage)
    await again.let("one")

    run = await again.it.run(run_id)
    code = run.failure.code if run.failure else ""
    assert code == ("" if goes_on else "taken_up_too_often")
    assert run.state is (RunState.COMPLETED if goes_on else RunState.INTERRUPTED)
    assert run.fence == takes + goes_on


async def test_every_restart_in_the_middle_counts_and_standing_in_line_does_not(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    first, second = await ended_turn(stage, "one", "two")
    for number in range(MOST_TAKES):
        stage = await restarted(make_core, stage, executor=f"again {number}")
        await killed(stage)

    last = await restarted(make_core, stage, executor="last")
    await last.let("two")

    assert await state_of(last, first) is RunState.INTERRUPTED
    assert await state_of(last, second) is RunState.COMPLETED


async def test_how_often_a_run_is_taken_up_can_be_chosen(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await ended_turn(stage, "one")

    sessions = Sessions(core.replace(stage.it.services, executor="process2"), most_takes=1)
    await sessions.start()
    run = await stage.it.store.get_run(CHAT, RunId(run_id))
    await sessions.close()

    assert run is not None
    assert run.failure is not None
    assert run.failure.code == "taken_up_too_often"


async def test_reloads_do_not_end_a_run_however_often(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await ended_turn(stage, "one")
    await rewrite(stage, run_id, fence=99)

    again = await restarted(make_core, stage, executor="process1")
    await again.let("one")

    assert await state_of(again, run_id) is RunState.COMPLETED


async def test_switched_off_all_end_and_their_owner_hears_of_them_once(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    ids = await ended_turn(stage, "one", "two")

    again = await restarted(make_core, stage, settings=Settings(resume_on_restart=False))
    await again.pass_time(10_000)

    (errand,) = again.messenger.begun
    assert [(run.run_id, run.state) for run in errand.runs] == [
        (run_id, RunState.INTERRUPTED) for run_id in ids
    ]
    assert again.crew.begun == []


async def test_what_depends_on_a_run_that_is_not_taken_up_is_skipped_and_the_rest_goes_on(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    runs = await start(
        stage.it, turn, a_task("bad"), a_task("good"), a_task("next", "bad"), a_task("more", "good")
    )
    await stage.crew.at_work("bad", "good")
    await stage.it.end(turn)
    await killed(stage)
    stored = [await stage.it.store.get_run(CHAT, run.run_id) for run in runs]
    await stage.it.store.delete_session(CHAT)
    await stage.it.store.add_runs(
        [core.replace(run, fence=9 if run.input == "bad" else run.fence) for run in stored if run]
    )

    again = await restarted(make_core, stage)
    await again.let("good", "more")

    failures = [await failure_of(again, run.run_id) for run in runs]
    assert [failure and failure.code for failure in failures] == [
        "taken_up_too_often",
        None,
        "skipped",
        None,
    ]
    assert [len(errand.runs) for errand in again.messenger.begun] == [4]


async def test_the_time_that_the_bot_was_down_is_not_the_runs(make_core: core.MakeCore) -> None:
    limit = Settings(execution_timeout=100, idle_timeout=0)
    stage = await a_stage(make_core, settings=limit)
    (run_id,) = await ended_turn(stage, "one")
    stage.it.clock.advance(3600)

    again = await restarted(make_core, stage, settings=limit)
    await again.pass_time(99)
    before = await state_of(again, run_id)
    await again.pass_time(1)

    assert (before, await state_of(again, run_id)) == (RunState.RUNNING, RunState.TIMED_OUT)


async def test_nothing_is_looked_up_before_the_host_is_up(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    one, two = await ended_turn(stage, "one", "two")
    crew = Crew()
    host = FakeHost(crew.script)
    host.up.clear()
    again = await restarted(make_core, stage, host=host, crew=crew)
    early = (list(host.requests), await state_of(again, one), await state_of(again, two))

    manager = await again.it.open()
    await manager.stopping.stop(two, (await again.it.turn()).asker, StopReason.USER)
    host.up.set()
    await again.let("one")

    assert early == ([], RunState.QUEUED, RunState.QUEUED)
    assert crew.begun == ["one"]
    assert await state_of(again, one) is RunState.COMPLETED
    assert await state_of(again, two) is RunState.CANCELLED


async def test_a_turn_sees_what_was_taken_up_and_can_wait_for_it(make_core: core.MakeCore) -> None:
    before, _, (run_id,) = await cut_off(make_core, "one")
    again = await restarted(make_core, before)
    turn = await again.it.turn()

    waiting = asyncio.create_task(again.it.call("wait_for_subagent", turn, task_id=run_id))
    await again.let("one")
    reply = await waiting
    await again.it.end(turn, TurnEnd.ANSWERED)

    assert "one done" in reply


def a_step(key: str, state: StepState = StepState.DONE, **more: Any) -> RunStep:
    more.setdefault("arguments", "{}")
    return RunStep(run_id=RunId("run"), key=key, name="write", state=state, at=EPOCH, **more)


def recorded(call_id: str, arguments: str = "{}") -> list[MessageBody]:
    """The messages of a step that was recorded whole."""
    function = {"name": "write", "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "ok"},
    ]


def test_a_record_that_is_whole_needs_no_note() -> None:
    steps = [a_step("1:a"), a_step("2:b", arguments='{"x": 1, "y": 2}')]
    messages = [*recorded("a"), *recorded("b", '{"y":2,"x":1}')]

    assert resume_note(steps, messages) == ""


def test_an_outcome_is_unknown_though_an_earlier_call_had_the_same_id() -> None:
    steps = [a_step("1:write"), a_step("2:write", StepState.INTENT)]

    note = resume_note(steps, recorded("write"))

    assert note.count("- write {}: outcome unknown") == 1
    assert "done" not in note


def test_an_outcome_stays_unknown_though_the_same_call_was_made_again_since() -> None:
    steps = [a_step("1:write", StepState.INTENT), a_step("2:write", output="second")]

    note = resume_note(steps, recorded("write"))

    assert note.count("- write {}: outcome unknown") == 1
    assert "second" not in note


def test_of_two_like_calls_of_which_one_is_recorded_the_other_is_told() -> None:
    steps = [a_step("1:write"), a_step("2:write", output="second")]

    note = resume_note(steps, recorded("write"))

    assert note.count("- write {}: done. Its result:") == 1
    assert "second" in note


def test_a_call_is_told_as_done_though_an_earlier_call_had_the_same_id() -> None:
    steps = [
        a_step("1:write", arguments='{"n": 1}'),
        a_step("2:write", arguments='{"n": 2}', output="second"),
        a_step("2:write#2", StepState.INTENT, arguments='{"n": 3}'),
    ]

    note = resume_note(steps, recorded("write", '{"n": 1}'))

    assert '- write {"n": 2}: done. Its result:' in note
    assert "second" in note
    assert '- write {"n": 3}: outcome unknown' in note
    assert '{"n": 1}' not in note


def test_calls_of_one_step_that_share_an_id_are_known_once_they_are_recorded() -> None:
    steps = [a_step("1:write"), a_step("1:write#2", arguments='{"n": 2}')]

    assert resume_note(steps, [*recorded("write"), *recorded("write", '{"n": 2}')]) == ""


def test_arguments_that_are_no_json_are_told_apart_too() -> None:
    steps = [a_step("1:a", arguments="{oops"), a_step("2:a", arguments="{other")]

    note = resume_note(steps, recorded("a", "{oops"))

    assert ("{other" in note, "{oops" in note) == (True, False)
