"""Whoever waits for a result does not wait for a store that is slow or locked."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState
from astrbot_plugin_subagents.manager.models import DeliveryState
from astrbot_plugin_subagents.manager.testing import Say, says
from support import core

make_core = core.make_core


@pytest.mark.parametrize("outcome", ["stored", "refused"])
async def test_a_result_is_handed_over_while_its_end_is_still_being_stored(
    make_core: core.MakeCore, outcome: str
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Say(text="the result")), store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("write_run")
    asking = asyncio.create_task(it.call("transfer_to_scout", turn, input="x"))
    await hold.reached.wait()
    await core.settled()
    waited = not asking.done()

    it.clock.advance(1)
    reply = await asking
    if outcome == "refused":
        await trouble.inner.close()
    hold.gate.set()
    await core.settled()
    await trouble.inner.open()
    manager = await it.open()
    kept = manager.is_idle()
    await it.end(turn)

    run = await it.store.get_run(turn.session, (await it.run(core.task_id(reply))).run_id)
    assert waited
    assert "state: completed" in reply
    assert "\nthe result\n" in reply
    assert not kept
    assert run is not None
    assert run.state is RunState.COMPLETED
    assert manager.is_idle()
    states = [
        row.state
        for row in await it.store.load_deliveries(turn.session, states=tuple(DeliveryState))
    ]
    assert DeliveryState.PENDING not in states


async def test_many_results_under_a_lock_come_after_one_short_while(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(
        says(Say(text="done")), store=trouble.store, settings=core.many_agents(starts_per_turn=99)
    )
    turn = await it.turn()
    hold = trouble.hold("write_run")
    run_ids = []
    for number in range(8):
        name = f"scout{number}"
        await it.create(name, turn)
        reply = await it.call(f"transfer_to_{name}", turn, input="x", background_task=True)
        run_ids.append(core.task_id(reply))
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=run_ids))
    await core.settled()

    it.clock.advance(1)
    reply = await waiting
    hold.gate.set()

    assert reply.count("state: completed") == 8


async def test_a_close_waits_for_an_end_that_is_being_stored(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Say(text="done")), store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("write_run")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await hold.reached.wait()
    it.clock.advance(1)
    await it.until_over(run_id)

    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    waited = not closing.done()
    hold.gate.set()
    await closing

    await trouble.inner.open()
    (run,) = await trouble.inner.list_runs(turn.session)
    assert waited
    assert run.state is RunState.COMPLETED
