"""The two clocks of a run: total, and idle, which stands still while something limited is open."""

import asyncio
from collections.abc import Callable

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings, StopReason, Turn
from astrbot_plugin_subagents.manager.events import ToolStarted
from astrbot_plugin_subagents.manager.runs.clocks import RunClocks
from astrbot_plugin_subagents.manager.testing import Act, FakeClock, Hang, Say, Use, says
from support import core

make_core = core.make_core


async def at_work(
    make_core: core.MakeCore, settings: Settings, *acts: Act
) -> tuple[core.Core, Turn, str]:
    it = await make_core(says(Use(tool="search", text="I began."), *acts), settings=settings)
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await core.settled()
    return it, turn, run_id


async def state(it: core.Core, run_id: str) -> tuple[RunState, str]:
    await core.settled()
    run = await it.run(run_id)
    return run.state, run.failure.code if run.failure else ""


async def test_the_total_time_ends_a_run_with_what_it_had(make_core: core.MakeCore) -> None:
    it, turn, run_id = await at_work(make_core, Settings(execution_timeout=100), Hang())

    it.clock.advance(99)
    assert await state(it, run_id) == (RunState.RUNNING, "")
    it.clock.advance(1)

    assert await state(it, run_id) == (RunState.TIMED_OUT, "timeout")
    reply = await it.call("wait_for_subagent", turn, task_id=run_id)
    assert "state: TIMED OUT" in reply
    assert "\nI began.\n" in reply
    assert "tools called: search x1" in reply
    assert "2 model calls" not in reply


@pytest.mark.parametrize(
    "act",
    [Hang(), Use(tool="write", gate=asyncio.Event())],
    ids=["model call", "limited tool"],
)
async def test_waiting_for_something_with_a_limit_of_its_own_is_not_idling(
    make_core: core.MakeCore, act: Act
) -> None:
    settings = Settings(execution_timeout=0, idle_timeout=50)
    it, _, run_id = await at_work(make_core, settings, act)

    for _ in range(100):
        it.clock.advance(50)

    assert await state(it, run_id) == (RunState.RUNNING, "")


async def test_a_tool_without_a_limit_may_not_be_silent_for_too_long(
    make_core: core.MakeCore,
) -> None:
    settings = Settings(execution_timeout=0, idle_timeout=50)
    silent = Use(tool="write", gate=asyncio.Event(), limited=False)
    it, _, run_id = await at_work(make_core, settings, silent)

    it.clock.advance(49)
    assert await state(it, run_id) == (RunState.RUNNING, "")
    it.clock.advance(1)

    assert await state(it, run_id) == (RunState.TIMED_OUT, "idle")


async def test_each_step_begins_the_idle_time_anew(make_core: core.MakeCore) -> None:
    settings = Settings(execution_timeout=0, idle_timeout=50)
    gates = [asyncio.Event() for _ in range(5)]
    acts = [Use(tool="write", gate=gate, limited=False) for gate in gates]
    it, _, run_id = await at_work(make_core, settings, *acts, Say(text="done"))

    for number, gate in enumerate(gates, start=2):
        await it.until(lambda event: isinstance(event, ToolStarted), count=number)
        it.clock.advance(40)
        gate.set()

    await it.until_over(run_id)
    assert await state(it, run_id) == (RunState.COMPLETED, "")


async def test_no_limit_is_no_limit(make_core: core.MakeCore) -> None:
    settings = Settings(execution_timeout=0, idle_timeout=0)
    silent = Use(tool="write", gate=asyncio.Event(), limited=False)
    it, _, run_id = await at_work(make_core, settings, silent)

    it.clock.advance(10**7)

    assert await state(it, run_id) == (RunState.RUNNING, "")


async def test_time_in_the_line_does_not_count(make_core: core.MakeCore) -> None:
    hangs = [Hang(), Hang()]
    scripts = iter(hangs)
    it = await make_core(
        lambda _: (next(scripts), Say(text="done")), settings=Settings(execution_timeout=100)
    )
    turn = await it.turn()
    await it.create("scout", turn)
    _, second = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xy"
    ]
    it.clock.advance(99)
    hangs[0].gate.set()
    await hangs[1].reached.wait()

    it.clock.advance(99)
    assert await state(it, second) == (RunState.RUNNING, "")
    it.clock.advance(1)
    assert await state(it, second) == (RunState.TIMED_OUT, "timeout")


async def test_a_run_that_is_over_leaves_no_clock_behind(make_core: core.MakeCore) -> None:
    it, _, run_id = await at_work(make_core, Settings(), Say(text="done"))
    await it.until_over(run_id)
    before = list(it.events)

    it.clock.advance(10**6)
    await core.settled()

    assert it.events == before


class CountingClock(FakeClock):
    """A clock that knows how many calls it still has to make."""

    def __init__(self) -> None:
        super().__init__()
        self.open: set[object] = set()

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        mark = object()
        self.open.add(mark)

        def call() -> None:
            self.open.discard(mark)
            callback()

        take_back = super().call_at(when, call)

        def forget() -> None:
            self.open.discard(mark)
            take_back()

        return forget


async def test_neither_runs_nor_waits_leave_a_timer_behind(make_core: core.MakeCore) -> None:
    clock = CountingClock()
    hang = Hang()
    it = await make_core(says(hang, Say(text="done")), clock=clock)
    turn = await it.turn()
    await it.create("scout", turn)
    before = len(clock.open)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=run_id))
    await core.settled()
    assert len(clock.open) == before + 3

    hang.gate.set()
    await waiting

    assert len(clock.open) == before


def test_each_clock_calls_at_most_once() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=10, idle=10, stop=stops.append)
    clocks.start()

    clock.advance(100)

    assert stops == [StopReason.TIMEOUT]


def test_closed_clocks_are_silent() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=10, idle=5, stop=stops.append)
    clocks.start()
    clocks.close()

    clock.advance(100)

    assert stops == []


def test_the_idle_time_begins_when_the_last_open_thing_is_closed() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=0, idle=10, stop=stops.append)
    clocks.start()
    clocks.opened()
    clocks.opened()
    clock.advance(35)
    clocks.closed()
    clock.advance(35)
    assert stops == []
    clocks.closed()

    clock.advance(9.5)
    assert stops == []
    clock.advance(0.5)
    assert stops == [StopReason.IDLE]


def test_more_is_closed_than_was_opened_and_the_clock_still_runs() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=0, idle=10, stop=stops.append)
    clocks.start()
    clocks.closed()
    clocks.opened()
    clocks.closed()

    clock.advance(10)

    assert stops == [StopReason.IDLE]


def test_both_clocks_stand_still_in_a_pause_and_the_total_goes_on_where_it_stood() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=10, idle=0, stop=stops.append)
    clocks.start()
    for _ in range(3):
        clock.advance(3)
        clocks.pause()
        clocks.pause()
        clock.advance(1_000)
        clocks.resume()
        clocks.resume()

    clock.advance(0.5)
    assert stops == []
    clock.advance(0.5)
    assert stops == [StopReason.TIMEOUT]


def test_the_idle_time_begins_anew_after_a_pause() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=0, idle=10, stop=stops.append)
    clocks.start()
    clock.advance(9)
    clocks.pause()
    clock.advance(1_000)
    clocks.resume()

    clock.advance(9.5)
    assert stops == []
    clock.advance(0.5)
    assert stops == [StopReason.IDLE]


def test_a_pause_in_something_open_leaves_it_open() -> None:
    clock = FakeClock()
    stops: list[StopReason] = []
    clocks = RunClocks(clock, total=0, idle=10, stop=stops.append)
    clocks.start()
    clocks.opened()
    clocks.pause()
    clocks.resume()

    clock.advance(100)
    assert stops == []
    clocks.closed()
    clock.advance(10)
    assert stops == [StopReason.IDLE]


def test_a_pause_leaves_no_timer_and_closed_clocks_stay_closed() -> None:
    clock = CountingClock()
    clocks = RunClocks(clock, total=10, idle=10, stop=lambda _: None)
    clocks.start()
    assert len(clock.open) == 2

    clocks.pause()
    assert clock.open == set()
    clocks.close()
    clock.advance(100)
    clocks.resume()

    assert clock.open == set()
