"""When the store cannot be written: nothing half begun, nothing done in vain, nothing twice."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState, Turn
from astrbot_plugin_subagents.manager.errors import StoreError, StoreUnavailable
from astrbot_plugin_subagents.manager.models import DeliveryState
from astrbot_plugin_subagents.manager.testing import Act, Hang, Say, Use, says
from support import core

make_core = core.make_core


async def a_core(
    make_core: core.MakeCore, *acts: Act
) -> tuple[core.Core, core.TroubledStore, Turn]:
    trouble = core.TroubledStore()
    it = await make_core(says(*(acts or (Say(text="done"),))), store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    return it, trouble, turn


async def restarted(make_core: core.MakeCore, it: core.Core) -> core.Core:
    """The bot after a restart."""
    await it.sessions.close()
    return await make_core(store=it.store, clock=it.clock, executor="process2")


async def test_a_run_that_cannot_be_stored_is_not_started_and_leaves_no_trace(
    make_core: core.MakeCore,
) -> None:
    it, trouble, turn = await a_core(make_core)
    before = await core.snapshot(it)
    trouble.failing.add("add_runs")

    for background in (False, True):
        reply = await it.call("transfer_to_scout", turn, input="x", background_task=background)
        assert reply.startswith("Error: The store cannot be used: the disk is full.")
        assert "Nothing was started" in reply

    assert await core.snapshot(it) == before
    assert it.host.requests == []
    assert (turn.starts, turn.children) == (0, set())
    manager = await it.open()
    assert manager.runs.free_places() == 16
    trouble.failing.clear()
    assert "state: completed" in await it.call("transfer_to_scout", turn, input="x")


async def test_a_run_that_cannot_be_taken_fails_and_is_told(make_core: core.MakeCore) -> None:
    hang = Hang()
    it, trouble, turn = await a_core(make_core, hang, Say(text="done"))
    first, second = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xy"
    ]
    await hang.reached.wait()
    trouble.failing.add("take_run")

    hang.gate.set()
    await it.until_over(first, second)

    reply = await it.call("wait_for_subagent", turn, task_id=[first, second])
    assert "state: completed" in reply
    assert "state: FAILED" in reply
    assert "[store_unavailable]" in reply
    assert (await it.open()).runs.live() == []


@pytest.mark.parametrize("method", ["load_messages", "last_seq", "save_agent"])
async def test_a_run_that_cannot_be_prepared_fails_and_is_told(
    make_core: core.MakeCore, method: str
) -> None:
    it, trouble, turn = await a_core(make_core)
    trouble.failing.add(method)

    reply = await it.call("transfer_to_scout", turn, input="x")

    assert "state: FAILED" in reply
    assert "[store_unavailable]" in reply


async def test_a_child_goes_on_while_the_store_does_not_write(make_core: core.MakeCore) -> None:
    it, trouble, turn = await a_core(
        make_core, Use(tool="search"), Use(tool="write"), Say(text="all the same")
    )
    trouble.failing.add("write_run")

    reply = await it.call("transfer_to_scout", turn, input="x")

    assert "state: completed" in reply
    assert "\nall the same\n" in reply
    assert trouble.calls.count("write_run") >= 3


async def test_an_end_that_could_not_be_written_is_handed_over_and_written_later(
    make_core: core.MakeCore,
) -> None:
    it, trouble, turn = await a_core(make_core, Use(tool="search"), Say(text="done"))
    trouble.failing.add("write_run")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    stored = await it.store.get_run(turn.session, (await it.run(run_id)).run_id)
    assert stored is not None
    assert stored.state is RunState.RUNNING
    trouble.failing.clear()

    await it.end(turn)

    assert await it.store.get_run(turn.session, stored.run_id) == await it.run(run_id)
    root = await restarted(make_core, it)
    assert run_id not in await root.notes(await root.turn())


async def test_a_result_that_was_read_before_its_end_could_be_written_does_not_come_again(
    make_core: core.MakeCore,
) -> None:
    it, trouble, turn = await a_core(make_core)
    trouble.failing.add("write_run")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    await it.end(turn)
    trouble.failing.clear()
    await it.end(await it.turn())

    root = await restarted(make_core, it)

    assert run_id not in await root.notes(await root.turn())
    assert (await root.run(run_id)).state is RunState.COMPLETED


@pytest.mark.parametrize("executor", ["process1", "process2"])
async def test_an_end_that_could_not_be_written_is_written_at_the_latest_at_the_close(
    make_core: core.MakeCore, executor: str
) -> None:
    it, trouble, turn = await a_core(make_core)
    trouble.failing.add("write_run")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await it.until_over(run_id)
    trouble.failing.clear()
    await it.sessions.close()

    root = await make_core(store=it.store, clock=it.clock, executor=executor)

    assert root.host.requests == []
    assert "state: completed" in await root.notes(await root.turn())


async def test_a_result_whose_end_is_not_written_yet_can_be_read_in_a_later_turn(
    make_core: core.MakeCore,
) -> None:
    it, trouble, turn = await a_core(make_core)
    trouble.failing.add("write_run")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    await it.end(turn)

    reply = await it.call("read_subagent_result", await it.turn(), task_id=run_id)

    assert "\ndone\n" in reply


async def test_an_acknowledgement_that_could_not_be_written_is_written_later(
    make_core: core.MakeCore,
) -> None:
    it, trouble, turn = await a_core(make_core)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    trouble.failing.add("update_deliveries")
    await it.end(turn)
    trouble.failing.clear()

    later = await it.turn()
    assert run_id not in await it.notes(later)
    await it.end(later)

    rows = await it.store.load_deliveries(turn.session, states=tuple(DeliveryState))
    assert [row.state for row in rows] == [DeliveryState.ACKNOWLEDGED]


async def test_a_session_with_unwritten_ends_is_not_let_go(make_core: core.MakeCore) -> None:
    it, trouble, turn = await a_core(make_core)
    await it.end(await it.turn())
    trouble.failing.add("write_run")
    await it.call("transfer_to_scout", turn, input="x")
    await it.end(turn)
    manager = await it.open()
    assert not manager.is_idle()
    trouble.failing.clear()

    await it.end(await it.turn())

    assert manager.is_idle()


@pytest.mark.parametrize("method", ["load_session", "load_agents", "load_deliveries"])
async def test_a_session_that_cannot_be_read_is_not_opened_and_can_be_later(
    make_core: core.MakeCore, method: str
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    trouble.failing.add(method)

    with pytest.raises(StoreUnavailable):
        await it.open()
    trouble.failing.clear()

    assert (await it.open()).agents() == []


async def test_a_store_that_cannot_be_opened_is_told(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    trouble.failing.add("open")

    with pytest.raises(StoreError):
        await make_core(store=trouble.store)


async def test_two_who_open_a_session_at_once_get_the_same_manager(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    hold = trouble.hold("load_agents")
    both = [asyncio.create_task(it.open()) for _ in range(3)]
    await hold.reached.wait()
    hold.gate.set()

    managers = await asyncio.gather(*both)

    assert len(set(map(id, managers))) == 1
    assert trouble.calls.count("load_agents") == 1


async def test_idle_sessions_leave_memory_and_come_back_as_they_were(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Hang()))
    busy = await it.turn(session="busy")
    await it.create("scout", busy)
    await it.call("transfer_to_scout", busy, input="x", background_task=True)
    await it.end(busy)
    kept = await it.turn(session="idle")
    await it.create("scout", kept)
    await it.call("protect_subagent", kept, name="scout")
    await it.end(kept)
    before = (await it.open("idle")).agents()

    for number in range(300):
        await it.open(f"chat{number}")

    assert it.sessions.loaded(kept.session) is None
    assert it.sessions.loaded(busy.session) is not None
    assert (await it.open("idle")).agents() == before
