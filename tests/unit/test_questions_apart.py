"""What an open question leaves alone: places, clocks, the conversation, and a reload."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.runs.resume import NO_ANSWER
from astrbot_plugin_subagents.manager.settings import TaskSettings
from astrbot_plugin_subagents.manager.testing import FakeClock
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from support import core
from support.asking import QUESTION, ask_no_more, asking
from support.bringing import Stage

make_core = core.make_core
TIGHT = Settings(execution_timeout=100, idle_timeout=50, question_timeout=100_000)
NARROW = Settings(max_parallel_per_session=1, question_timeout=100_000)
MANY = 300


async def answer(stage: Stage, run_id: str, text: str = "yes") -> str:
    turn = await stage.it.turn()
    reply = await stage.it.call("answer_subagent", turn, task_id=run_id, answer=text)
    await stage.it.end(turn)
    await core.settled()
    return reply


async def state(stage: Stage, run_id: str) -> RunState:
    await core.settled()
    return (await stage.it.run(run_id)).state


@pytest.mark.parametrize(("idle", "left"), [(50, 50), (0, 60)])
async def test_both_clocks_stand_while_a_question_is_open_and_go_on_after_it(
    make_core: core.MakeCore, idle: float, left: float
) -> None:
    stage = await asking(make_core, settings=replace(TIGHT, idle_timeout=idle))
    (run_id,) = await stage.after_turn("hang, then ask, then wait")
    await stage.pass_time(40)
    await stage.let("hang, then ask, then wait")

    await stage.pass_time(50_000)
    assert await state(stage, run_id) is RunState.WAITING
    await answer(stage, run_id)
    await stage.pass_time(left - 1)
    assert await state(stage, run_id) is RunState.RUNNING
    await stage.pass_time(1)

    assert await state(stage, run_id) is RunState.TIMED_OUT


async def test_a_place_is_free_while_a_question_is_open(make_core: core.MakeCore) -> None:
    stage = await asking(make_core, settings=NARROW)
    (asks,) = await stage.after_turn("ask")

    (works,) = await stage.after_turn("hang", agent="ben")

    assert await state(stage, asks) is RunState.WAITING
    assert await state(stage, works) is RunState.RUNNING


async def test_who_has_the_answer_stands_in_line_again_ahead_of_new_ones(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core, settings=NARROW)
    (asks,) = await stage.after_turn("ask")
    (works,) = await stage.after_turn("hang", agent="ben")
    (new,) = await stage.after_turn("hang on", agent="cat")

    reply = await answer(stage, asks)
    turn = await stage.it.turn()
    waited = asyncio.create_task(stage.it.call("wait_for_subagent", turn, task_id=[asks, new]))
    await core.settled()
    notes = await stage.it.notes(turn)
    states = [await state(stage, each) for each in (asks, works, new)]
    await stage.let("hang")

    assert "goes on with your answer" in reply
    assert states == [RunState.QUEUED, RunState.RUNNING, RunState.QUEUED]
    assert f"task_id: {asks} | sub-agent: ann | waiting in line, place 1" in notes
    assert f"task_id: {new} | sub-agent: cat | waiting in line, place 2" in notes
    assert await state(stage, asks) is RunState.COMPLETED
    await stage.let("hang on")
    assert "state: completed" in await waited


async def test_a_conversation_stays_its_own_while_a_question_is_open(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core)
    (asks,) = await stage.after_turn("ask")

    (behind,) = await stage.after_turn("say")
    before = await state(stage, behind)
    await answer(stage, asks)

    assert before is RunState.QUEUED
    assert await state(stage, behind) is RunState.COMPLETED
    assert [request.prompt for request in stage.it.host.requests] == ["ask", "say"]


async def reloaded(make_core: core.MakeCore, stage: Stage) -> Stage:
    """The chat after a reload of the plugin."""
    await stage.it.sessions.close()
    await stage.it.store.open()
    return await asking(
        make_core,
        store=stage.it.store,
        clock=stage.it.clock,
        settings=stage.it.services.settings(),
    )


def told(request: AgentRequest) -> str:
    return "\n".join(request.notes)


async def test_a_question_stays_open_over_a_reload_and_the_child_is_told_the_answer(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core, settings=TIGHT)
    (asks,) = await stage.after_turn("hang, then ask")
    (behind,) = await stage.after_turn("say")
    await stage.let("hang, then ask")
    await stage.pass_time(1_000)
    later = await reloaded(make_core, stage)
    await core.settled()

    before = [await state(later, each) for each in (asks, behind)]
    requests = list(later.it.host.requests)
    ask_no_more(later)
    await answer(later, asks, "The red one.")
    # the time for which it waited is not taken from it
    await later.pass_time(90)
    await later.let("hang, then ask")

    assert before == [RunState.WAITING, RunState.QUEUED]
    assert requests == []
    first, second = later.it.host.requests
    assert "You had asked:\n<<question" in told(first)
    assert QUESTION in told(first)
    assert "The answer of your principal:\nThe red one." in told(first)
    assert "You had asked" not in told(second)
    assert RunState.QUEUED in core.states_of(later.it.events, asks)
    assert await state(later, asks) is RunState.COMPLETED
    assert await state(later, behind) is RunState.COMPLETED


async def test_a_question_that_a_reload_found_open_is_sent_once_the_chat_can_be_reached(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core)
    stage.messenger.is_on = False
    (run_id,) = await stage.after_turn("ask")
    await core.settled()
    messenger = FakeMessenger()
    messenger.is_on = False
    await stage.it.sessions.close()
    await stage.it.store.open()
    later = await asking(make_core, store=stage.it.store, clock=stage.it.clock, messenger=messenger)
    await core.settled()

    messenger.is_on = True
    await later.it.sessions.courier.start()
    await core.settled()

    assert messenger.sent == [(Way.ASK, (run_id,))]


async def test_a_child_that_nobody_answered_over_a_reload_goes_on_and_knows_it(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core)
    (run_id,) = await stage.after_turn("ask")
    await core.settled()
    later = await reloaded(make_core, stage)
    ask_no_more(later)
    await later.it.open()
    await core.settled()

    await later.pass_time(600)

    assert NO_ANSWER in told(later.it.host.requests[0])
    assert await state(later, run_id) is RunState.COMPLETED


@pytest.mark.parametrize("after_reload", [False, True])
async def test_a_shutdown_and_a_stop_take_a_run_with_an_open_question_along(
    make_core: core.MakeCore, after_reload: bool
) -> None:
    stage = await asking(make_core)
    (run_id,) = await stage.after_turn("ask")
    await core.settled()
    if after_reload:
        stage = await reloaded(make_core, stage)
        await core.settled()

    turn = await stage.it.turn()
    reply = await stage.it.call("cancel_subagent_task", turn, task_id=run_id)

    assert "state: cancelled" in reply
    manager = await stage.it.open()
    assert manager.runs.live() == []
    assert manager.runs.free_places() == 16
    await stage.begin(turn, "say")
    await core.settled()
    assert manager.runs.live() == []


class CountingClock(FakeClock):
    """Counts the timers that fire."""

    def __init__(self) -> None:
        super().__init__()
        self.fired = 0

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        """See `Clock.call_at`."""

        def fire() -> None:
            self.fired += 1
            callback()

        return super().call_at(when, fire)


async def test_hundreds_of_runs_that_wait_for_answers_do_nothing(make_core: core.MakeCore) -> None:
    clock = CountingClock()
    settings = Settings(
        max_parallel_per_session=1,
        max_parallel_total=1,
        starts_per_turn=MANY,
        execution_timeout=100,
        idle_timeout=50,
        question_timeout=10_000,
        task=TaskSettings(max_tasks_per_call=MANY),
    )
    stage = await asking(make_core, clock=clock, settings=settings)
    stage.messenger.is_on = False
    turn = await stage.it.turn()
    tasks = [{"task": "ask"} for _ in range(MANY)]
    await stage.it.call("task", turn, tasks=tasks, background_task=True)
    manager = await stage.it.open()
    async with asyncio.timeout(core.LONG):
        while len(manager.runs.questions.open()) < MANY:
            await core.settled()
    # what has happened until now is written down once
    await stage.pass_time(5)
    before, fired = len(stage.it.events), clock.fired

    for _ in range(9):
        await stage.pass_time(1_000)

    assert clock.fired == fired
    assert len(stage.it.events) == before
    assert manager.runs.free_places() == 1
