"""Two things in the same moment: each run still ends once, and its result comes once."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState, Turn, TurnEnd
from astrbot_plugin_subagents.manager.errors import ShuttingDown
from astrbot_plugin_subagents.manager.events import ResultsHanded
from astrbot_plugin_subagents.manager.models import DeliveryState
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import Hang, Say, says
from support import core

make_core = core.make_core


async def begun(make_core: core.MakeCore, hang: Hang) -> tuple[core.Core, Turn, str]:
    """A run whose model call hangs, started in the background."""
    it = await make_core(says(hang, Say(text="the answer")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await hang.reached.wait()
    return it, turn, run_id


async def check_whole(it: core.Core, run_id: str) -> None:
    """The run has ended once, nothing is left of it but its result."""
    await core.settled()
    assert core.ended_ids(it.events) == [run_id]
    manager = await it.open()
    assert manager.runs.live() == []
    assert manager.runs.free_places() == 16
    stored = await it.store.get_run(manager.session, (await it.run(run_id)).run_id)
    assert stored == await it.run(run_id)


def handed(it: core.Core) -> list[tuple[str, ...]]:
    return [event.delivery_ids for event in it.events if isinstance(event, ResultsHanded)]


@pytest.mark.parametrize("ticks", range(8))
async def test_an_end_and_a_cancel_in_the_same_moment_are_one_end(
    make_core: core.MakeCore, ticks: int
) -> None:
    hang = Hang()
    it, turn, run_id = await begun(make_core, hang)

    hang.gate.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    reply = await it.call("cancel_subagent_task", turn, task_id=run_id)

    state = (await it.run(run_id)).state
    assert ("state: cancelled" in reply) is (state is RunState.CANCELLED)
    await check_whole(it, run_id)
    await it.end(turn)
    due = run_id in await it.notes(await it.turn())
    assert due is reply.startswith("Error: ")


@pytest.mark.parametrize("ticks", range(8))
async def test_an_end_and_a_timeout_of_the_wait_in_the_same_moment(
    make_core: core.MakeCore, ticks: int
) -> None:
    hang = Hang()
    it, turn, run_id = await begun(make_core, hang)
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=run_id))
    await core.settled()

    hang.gate.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    it.clock.advance(60)
    reply = await waiting

    await check_whole(it, run_id)
    await it.end(turn)
    later = await it.notes(await it.turn())
    assert ("state: completed" in reply) is not ("state: completed" in later)
    assert handed(it) == [(run_id,)]


@pytest.mark.parametrize("ticks", range(8))
async def test_an_end_and_the_end_of_a_stopped_turn_in_the_same_moment(
    make_core: core.MakeCore, ticks: int
) -> None:
    hang = Hang()
    it, turn, run_id = await begun(make_core, hang)
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=run_id))
    await core.settled()

    hang.gate.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    await it.end(turn, TurnEnd.STOPPED)
    await waiting

    await check_whole(it, run_id)
    assert "the answer" in await it.notes(await it.turn())


@pytest.mark.parametrize("ticks", range(8))
async def test_an_end_and_a_shutdown_in_the_same_moment(
    make_core: core.MakeCore, ticks: int
) -> None:
    hang = Hang()
    it, _, run_id = await begun(make_core, hang)

    hang.gate.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    await it.sessions.close()

    again = await make_core(says(Say(text="the answer")), store=it.store, clock=it.clock)
    await core.settled()
    assert core.ended_ids([*it.events, *again.events]) == [run_id]
    assert "\nthe answer\n" in await again.notes(await again.turn())


@pytest.mark.parametrize("ticks", range(6))
async def test_a_cancel_in_the_moment_in_which_a_run_begins(
    make_core: core.MakeCore, ticks: int
) -> None:
    it = await make_core(says(Hang()))
    turn = await it.turn()
    await it.create("scout", turn)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    for _ in range(ticks):
        await asyncio.sleep(0)

    work.cancel()
    await core.settled()
    await it.end(turn, TurnEnd.STOPPED)

    assert work.cancelled()
    manager = await it.open()
    runs = await it.store.list_runs(manager.session)
    assert [run.state for run in runs] in ([], [RunState.CANCELLED])
    assert core.ended_ids(it.events) == [run.run_id for run in runs]
    assert manager.runs.free_places() == 16


async def test_a_call_that_is_cancelled_while_its_run_is_stored_stops_the_run(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("add_runs")
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    await hold.reached.wait()

    work.cancel()
    await core.settled()
    hold.gate.set()
    await core.settled()

    assert work.cancelled()
    (run,) = await it.store.list_runs(turn.session)
    assert run.state is RunState.CANCELLED
    assert it.host.requests == []
    await check_whole(it, run.run_id)


async def test_a_shutdown_while_a_run_is_stored_leaves_it_to_be_taken_up(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("add_runs")
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    await hold.reached.wait()

    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    hold.gate.set()
    await closing
    reply = await work

    assert "is being reloaded; the task goes on" in reply
    again = await make_core(store=trouble.store, clock=it.clock)
    await again.until_over(core.task_id(reply))


async def test_a_shutdown_while_an_end_is_written_lets_it_be_written(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("write_run")
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await hold.reached.wait()

    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    assert not closing.done()
    hold.gate.set()
    await closing

    again = await make_core(store=trouble.store, clock=it.clock)
    assert again.host.requests == []
    assert run_id in await again.notes(await again.turn())


async def test_a_stop_while_an_end_is_written_comes_too_late(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("write_run")
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await hold.reached.wait()
    stopping = asyncio.create_task(it.call("cancel_subagent_task", turn, task_id=run_id))
    await core.settled()

    hold.gate.set()

    assert "state: completed" in await stopping
    await check_whole(it, run_id)


async def test_a_shutdown_while_a_stopped_run_is_written_lets_it_be_written_once(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    hang = Hang()
    it = await make_core(says(hang), store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await hang.reached.wait()
    hold = trouble.hold("write_run")
    stopping = asyncio.create_task(it.call("cancel_subagent_task", turn, task_id=run_id))
    await hold.reached.wait()

    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    hold.gate.set()
    await closing

    assert "state: cancelled" in await stopping
    assert trouble.calls.count("write_run") == 1
    assert core.ended_ids(it.events) == [run_id]


async def test_two_cancels_of_one_run_are_one_end(make_core: core.MakeCore) -> None:
    it, turn, run_id = await begun(make_core, Hang())

    replies = await asyncio.gather(
        *(it.call("cancel_subagent_task", turn, task_id=run_id) for _ in range(2))
    )

    assert ["state: cancelled" in reply for reply in replies] == [True, True]
    assert handed(it) == [(run_id,)]
    await check_whole(it, run_id)


async def test_after_the_end_nothing_starts(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    manager = await it.open()
    await it.sessions.close()

    with pytest.raises(ShuttingDown):
        await manager.delegate("scout", "Look.", turn)
    with pytest.raises(ShuttingDown):
        await it.sessions.open(turn.session)
    assert turn.starts == 0


async def test_runs_that_are_taken_up_and_stopped_at_once_stay_to_be_taken_up(
    make_core: core.MakeCore,
) -> None:
    it, _, run_id = await begun(make_core, Hang())
    await it.sessions.close()

    again = await make_core(says(Hang()), store=it.store, clock=it.clock)
    await again.sessions.close()
    third = await make_core(store=it.store, clock=it.clock)
    await third.until_over(run_id)

    assert core.ended_ids([*it.events, *again.events, *third.events]) == [run_id]


async def test_a_run_that_is_taken_up_and_cancelled_at_once_is_cancelled(
    make_core: core.MakeCore,
) -> None:
    it, _, run_id = await begun(make_core, Hang())
    await it.sessions.close()
    again = await make_core(says(Hang()), store=it.store, clock=it.clock)

    reply = await again.call("cancel_subagent_task", await again.turn(), task_id=run_id)

    assert "state: cancelled" in reply
    await check_whole(again, run_id)
    assert again.host.requests == []


async def test_a_run_that_another_process_has_taken_is_left_alone(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it, turn, run_id = await begun(make_core, hang)
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=run_id))
    await core.settled()
    taken = await it.store.take_run(await it.run(run_id))
    assert taken is not None

    hang.gate.set()
    reply = await waiting

    assert "Not finished" in reply
    assert core.ended_ids(it.events) == []
    assert (await it.open()).runs.free_places() == 16
    assert await it.store.load_deliveries(turn.session, states=tuple(DeliveryState)) == []


async def test_a_result_that_is_collected_twice_at_once_is_handed_once(
    make_core: core.MakeCore,
) -> None:
    store = MemoryStore()
    it = await make_core(store=store)
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await it.until_over(run_id)
    await it.end(turn)

    turns = [await it.turn() for _ in range(3)]
    notes = await asyncio.gather(*(it.notes(turn) for turn in turns))

    assert sorted("\ndone\n" in text for text in notes) == [False, False, True]
