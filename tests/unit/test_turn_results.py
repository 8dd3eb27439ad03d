"""What the end of a turn brings to the results that it was handed."""

import pytest

from astrbot_plugin_subagents.manager import TurnEnd
from astrbot_plugin_subagents.manager.models import DeliveryState
from astrbot_plugin_subagents.manager.testing import Hang, Say, says
from support import core

make_core = core.make_core


async def deliveries(it: core.Core) -> list[DeliveryState]:
    rows = await it.store.load_deliveries((await it.open()).session, states=tuple(DeliveryState))
    return [row.state for row in rows]


@pytest.mark.parametrize("how", ["transfer", "wait", "read", "cancel", "notes"])
@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("end", TurnEnd)
async def test_a_result_comes_again_only_if_the_model_does_not_have_it_for_good(
    make_core: core.MakeCore, how: str, carried: bool, end: TurnEnd
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="the answer")))
    if how != "cancel":
        hang.gate.set()
    turn = await it.turn()
    await it.create("scout", turn)
    reply = await it.call("transfer_to_scout", turn, input="x", background_task=how != "transfer")
    run_id = core.task_id(reply)
    if how != "cancel":
        await it.until_over(run_id)
    match how:
        case "wait":
            await it.call("wait_for_subagent", turn, task_id=run_id)
        case "read":
            await it.call("read_subagent_result", turn, task_id=run_id)
        case "cancel":
            await it.call("cancel_subagent_task", turn, task_id=run_id)
        case "notes":
            await it.notes(turn)

    if carried:
        (await it.open()).carried(turn)
    await it.end(turn, end)

    kept = {
        TurnEnd.ANSWERED: True,
        # the host drops what stood at the head of a turn, so only an answer makes it last
        TurnEnd.STOPPED: carried and how != "notes",
        TurnEnd.LOST: False,
        TurnEnd.LEFT: carried,
    }[end]
    read = DeliveryState.HANDED if end is TurnEnd.LEFT else DeliveryState.ACKNOWLEDGED
    assert await deliveries(it) == [read if kept else DeliveryState.PENDING]
    later = await it.turn()
    assert (f"task_id: {run_id}\n" in await it.notes(later)) is not kept
    await it.end(later)
    assert await deliveries(it) == [read if kept else DeliveryState.ACKNOWLEDGED]


async def test_a_result_that_came_after_the_last_model_request_comes_again(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    first = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    (await it.open()).carried(turn)
    second = core.task_id(await it.call("transfer_to_scout", turn, input="x"))

    await it.end(turn, TurnEnd.STOPPED)

    notes = await it.notes(await it.turn())
    assert (f"task_id: {first}\n" in notes, f"task_id: {second}\n" in notes) == (False, True)


async def test_a_result_that_stood_at_the_head_and_was_read_again_stays_after_a_stop(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    first, turn = await it.turn(), await it.turn()
    await it.create("scout", first)
    run_id = core.task_id(
        await it.call("transfer_to_scout", first, input="x", background_task=True)
    )
    await it.until_over(run_id)
    await it.notes(turn)
    manager = await it.open()
    manager.carried(turn)
    await it.call("read_subagent_result", turn, task_id=run_id)
    manager.carried(turn)

    await it.end(turn, TurnEnd.STOPPED)

    assert await deliveries(it) == [DeliveryState.ACKNOWLEDGED]


async def test_a_result_that_no_turn_keeps_is_handed_over_again_and_again(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    await it.end(turn, TurnEnd.LOST)

    seen = []
    for _ in range(6):
        later = await it.turn()
        seen.append(f"task_id: {run_id}\n" in await it.notes(later))
        await it.end(later, TurnEnd.LOST)

    assert seen == [True] * 6
    assert await deliveries(it) == [DeliveryState.PENDING]
