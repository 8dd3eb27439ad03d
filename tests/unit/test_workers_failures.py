"""Processes die, freeze, are reloaded and come back: each result comes once, to its home."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings, TurnEnd
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.models import DeliveryState, StepState
from astrbot_plugin_subagents.manager.runs.taking_up import MOST_TAKES
from support import fleet as fleets
from support.core import settled
from support.fleet import HOME, OTHER, WORKER, Fleet, Process

fleet = fleets.fleet

QUEUED, RUNNING, WAITING = RunState.QUEUED, RunState.RUNNING, RunState.WAITING
COMPLETED, CANCELLED = RunState.COMPLETED, RunState.CANCELLED


async def at_work(fleet: Fleet, text: str = "look") -> tuple[Process, Process, str]:
    """A worker and a home whose run is at work there, after its turn."""
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn(text)
    await settled()
    assert (await fleet.row(run_id)).executor == "south 1"
    return worker, home, run_id


async def assert_delivered_once(fleet: Fleet, home: Process, run_id: str) -> None:
    """The result woke its owner at home, once, and nobody else has it."""
    assert home.brought() == [(run_id,)]
    [delivery] = await fleet.deliveries()
    assert delivery.state is DeliveryState.ACKNOWLEDGED


async def test_a_run_whose_process_dies_goes_on_in_another(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "wait")
    other = await fleet.process(OTHER)
    fleet.exchange.workforces.remove(home.sharing.workforce)  # type: ignore[arg-type] # the double
    await fleet.kill(worker)
    other.children.waits.set()
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (COMPLETED, "west 3", 2)
    await assert_delivered_once(fleet, home, run_id)
    assert home.states(run_id) == [QUEUED, RUNNING, RUNNING, COMPLETED]
    [note] = [note for note in other.host.requests[0].notes if "interrupted" in note]
    assert "search {}: outcome unknown" in note


async def test_what_a_frozen_process_does_after_its_run_was_taken_away_is_void(
    fleet: Fleet,
) -> None:
    worker, home, run_id = await at_work(fleet, "wait")
    await fleet.forget(worker)
    worker.children.waits.set()
    await settled()
    taken = await fleet.row(run_id)
    assert (taken.executor, taken.fence) == ("north 2", 2)

    await worker.thaw()
    assert await fleet.row(run_id) == taken
    steps = await fleet.inner.run_steps(taken.run_id)
    assert {step.state for step in steps} == {StepState.INTENT}

    home.children.waits.set()
    await settled()
    assert (await fleet.row(run_id)).state is COMPLETED
    await assert_delivered_once(fleet, home, run_id)


async def test_a_home_that_was_frozen_leaves_its_run_to_who_took_it(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn("wait")
    await settled()
    worker = await fleet.process(WORKER)
    await fleet.forget(home)
    home.children.waits.set()
    await settled()
    await home.thaw()
    assert (await fleet.row(run_id)).executor == "south 2"

    worker.children.waits.set()
    await settled()

    assert (await fleet.row(run_id)).state is COMPLETED
    await assert_delivered_once(fleet, home, run_id)


async def test_what_ends_while_its_home_is_gone_is_brought_when_it_is_back(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)
    await fleet.kill(home)
    worker.children.let("look")
    await settled()
    assert [delivery.state for delivery in await fleet.deliveries()] == [DeliveryState.PENDING]
    assert worker.messenger.begun == []

    back = await fleet.process(HOME)
    await back.sessions.courier.start()
    await settled()

    await assert_delivered_once(fleet, back, run_id)
    assert home.brought() == []


async def test_a_home_that_comes_back_follows_what_is_still_at_work(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)
    await fleet.kill(home)
    back = await fleet.process(HOME)
    await settled()
    assert [run.run_id for run in (await back.open()).runs.live()] == [run_id]

    worker.children.let("look")
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (COMPLETED, "south 1", 1)
    assert back.states(run_id)[-1:] == [COMPLETED]
    await assert_delivered_once(fleet, back, run_id)


async def test_a_question_that_is_open_while_its_home_is_gone_is_asked_when_it_is_back(
    fleet: Fleet,
) -> None:
    worker, home, run_id = await at_work(fleet, "ask")
    await fleet.kill(home)
    back = await fleet.process(HOME)
    await back.sessions.courier.start()
    await settled()
    assert back.messenger.sent == [(Way.ASK, (run_id,))]

    turn = await back.turn()
    await back.call("answer_subagent", turn, task_id=run_id, answer="Red.")
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (COMPLETED, "south 1", 1)
    assert worker.messenger.begun == []


async def test_a_process_that_is_reloaded_hands_its_guests_on_at_once(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "wait")

    await worker.sessions.close()
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (RUNNING, "north 2", 2)
    home.children.waits.set()
    await settled()
    await assert_delivered_once(fleet, home, run_id)


async def test_a_home_that_is_reloaded_leaves_its_runs_at_work_elsewhere(fleet: Fleet) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    turn = await home.turn()
    calling = asyncio.ensure_future(home.call("transfer_to_ann", turn, input="look"))
    await settled()

    await home.end(turn, TurnEnd.LEFT)
    await home.sessions.close()
    await calling
    run_id = fleet.exchange.brought[0][1]
    worker.children.let("look")
    await settled()
    again = await fleet.process(HOME, life=2)
    await again.sessions.courier.start()
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (COMPLETED, "south 1", 1)
    assert row.background
    await assert_delivered_once(fleet, again, run_id)


async def test_a_home_that_executes_its_own_run_hands_it_on_when_it_is_reloaded(
    fleet: Fleet,
) -> None:
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn("look")
    await settled()
    worker = await fleet.process(WORKER)

    await home.sessions.close()
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (RUNNING, "south 2", 2)
    worker.children.let("look")
    await settled()
    assert (await fleet.row(run_id)).state is COMPLETED


async def test_a_lost_signal_is_made_up_for_by_looking_again(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)
    fleet.exchange.is_losing_signals = True
    worker.children.let("look")
    await settled()
    assert home.states(run_id) == [QUEUED, RUNNING]

    await fleet.pass_time(15)

    assert home.states(run_id) == [QUEUED, RUNNING, COMPLETED]
    await assert_delivered_once(fleet, home, run_id)


async def test_a_connection_that_is_back_makes_up_for_what_was_missed(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)
    fleet.exchange.is_losing_signals = True
    worker.children.let("look")
    await settled()

    for signals in fleet.exchange.signals:
        signals.reconnect()
    await settled()

    await assert_delivered_once(fleet, home, run_id)


async def test_a_run_that_nobody_alive_has_is_sent_again(fleet: Fleet) -> None:
    _, home, run_id = await at_work(fleet)
    fleet.exchange.workforces.pop(0)
    fleet.exchange.jobs.clear()

    await fleet.pass_time(15)
    home.children.let("look")
    await settled()

    assert fleet.exchange.brought == [(WORKER, run_id), (HOME, run_id)]
    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (COMPLETED, "north 2", 2)
    await assert_delivered_once(fleet, home, run_id)


async def test_a_run_that_is_brought_twice_is_executed_once(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)
    fleet.exchange.jobs.clear()
    await fleet.exchange.workforces[0].send((await fleet.row(run_id)).run_id)
    await settled()

    worker.children.let("look")
    await settled()

    assert worker.children.begun == ["look"]
    await assert_delivered_once(fleet, home, run_id)


@pytest.mark.parametrize(("takes", "goes_on"), [(MOST_TAKES - 1, True), (MOST_TAKES, False)])
async def test_a_run_that_brings_down_each_process_is_ended_at_last(
    fleet: Fleet, takes: int, goes_on: bool
) -> None:
    home = await fleet.process(HOME, places=0)
    (run_id,) = await home.after_turn("wait")
    for _ in range(takes):
        worker = await fleet.process(WORKER)
        await settled()
        await fleet.kill(worker)

    last = await fleet.process(OTHER)
    last.children.waits.set()
    await settled()

    row = await fleet.row(run_id)
    code = row.failure.code if row.failure else ""
    assert (row.state is COMPLETED, code) == (goes_on, "" if goes_on else "taken_up_too_often")
    await assert_delivered_once(fleet, home, run_id)


async def test_reloads_do_not_count_as_crashes(fleet: Fleet) -> None:
    home = await fleet.process(HOME, places=0)
    (run_id,) = await home.after_turn("wait")
    for _ in range(MOST_TAKES + 1):
        worker = await fleet.process(WORKER)
        await settled()
        await worker.sessions.close()

    last = await fleet.process(OTHER)
    last.children.waits.set()
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.fence) == (COMPLETED, MOST_TAKES + 2)
    await assert_delivered_once(fleet, home, run_id)


async def test_what_a_crash_cut_off_ends_where_runs_are_not_to_be_taken_up(fleet: Fleet) -> None:
    settings = Settings(resume_on_restart=False)
    worker = await fleet.process(WORKER, settings=settings)
    home = await fleet.process(HOME, settings=settings)
    (run_id,) = await home.after_turn("look")
    await settled()

    await fleet.kill(worker)
    await settled()

    row = await fleet.row(run_id)
    assert (row.state, row.fence) == (RunState.INTERRUPTED, 2)
    await assert_delivered_once(fleet, home, run_id)


async def test_a_home_ends_with_its_session(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)

    await fleet.inner.delete_session((await fleet.row(run_id)).session)
    await fleet.pass_time(15)

    assert (await home.open()).runs.live() == []
    worker.children.let("look")
    await settled()
    assert home.states(run_id) == [QUEUED, RUNNING]
