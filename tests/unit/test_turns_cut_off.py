"""What becomes of the work of a turn that is cut off, and who gets its results then."""

import asyncio
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings, Turn, TurnEnd
from astrbot_plugin_subagents.manager.models import DeliveryState
from support import core
from support.bringing import Stage, a_stage
from support.task_calls import a_task

make_core = core.make_core
KEEP = Settings(on_turn_interrupted="keep")


async def cut_off(
    stage: Stage, turn: Turn, tool: str, end: TurnEnd = TurnEnd.STOPPED, **arguments: Any
) -> None:
    """Cut a turn off while a tool of it waits."""
    call = asyncio.create_task(stage.it.call(tool, turn, **arguments))
    await stage.crew.at_work("look")
    call.cancel()
    await stage.it.end(turn, end)
    await core.settled()


async def state_of_all(stage: Stage) -> list[tuple[RunState, bool]]:
    runs = await stage.it.store.list_runs((await stage.it.open()).session)
    found = [await stage.it.run(run.run_id) for run in runs]
    return [(run.state, run.background) for run in found]


@pytest.mark.parametrize("end", [TurnEnd.STOPPED, TurnEnd.LOST])
async def test_foreground_work_of_a_turn_that_is_cut_off_is_stopped_and_wakes_nobody(
    make_core: core.MakeCore, end: TurnEnd
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    (background,) = await stage.begin(turn, "other", agent="ben")

    await cut_off(stage, turn, "transfer_to_ann", end, input="look")

    assert stage.messenger.begun == []
    assert (await stage.it.run(background)).state is RunState.RUNNING
    assert (RunState.CANCELLED, False) in await state_of_all(stage)
    notes = await stage.it.notes(await stage.it.turn())
    assert "The turn that asked was stopped." in notes


@pytest.mark.parametrize("how", ["setting", "turn"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("transfer_to_ann", {"input": "look"}),
        ("task", {"tasks": [a_task("look")]}),
    ],
)
async def test_kept_foreground_work_goes_on_in_the_background_and_is_brought(
    make_core: core.MakeCore, how: str, tool: str, arguments: dict[str, Any]
) -> None:
    stage = await a_stage(make_core, settings=KEEP if how == "setting" else Settings())
    turn = await stage.it.turn()
    turn.keeps_children = how == "turn"

    await cut_off(stage, turn, tool, **arguments)
    before = await state_of_all(stage)
    await stage.let("look")

    assert before == [(RunState.RUNNING, True)]
    ((end, brought),) = stage.messenger.ended
    assert (end, len(brought)) == (TurnEnd.ANSWERED, 1)
    assert await stage.states() == [DeliveryState.ACKNOWLEDGED]


async def test_a_turn_that_leaves_with_the_plugin_lets_its_work_go_on(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)

    await cut_off(stage, await stage.it.turn(), "transfer_to_ann", TurnEnd.LEFT, input="look")
    await stage.let("look")

    assert [errand.way for errand in stage.messenger.begun] == ["wake"]


async def test_work_that_was_handed_over_while_its_end_is_written_is_brought_all_the_same(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, store=trouble.store)
    turn = await stage.it.turn()
    call = asyncio.create_task(
        stage.it.call("transfer_to_ann", turn, seconds_left=0.5, input="look")
    )
    await stage.crew.at_work("look")
    write = trouble.hold("write_run")
    stage.crew.let("look")
    await write.reached.wait()

    stage.it.clock.advance(0.5)
    reply = await call
    await stage.it.end(turn)
    write.gate.set()
    await core.settled()

    assert "goes on in the background" in reply
    run_id = core.task_id(reply)
    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]


async def test_a_result_that_comes_in_the_moment_its_turn_ends_is_brought_once(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    (run_id,) = await stage.begin(turn, "look")

    stage.crew.let("look")
    ending = asyncio.create_task(stage.it.end(turn))
    await ending
    await core.settled()

    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]


async def test_a_lost_turn_gives_its_background_results_to_a_wake_up(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    (run_id,) = await stage.begin(turn, "look")
    await stage.let("look")
    await stage.it.call("wait_for_subagent", turn, task_id=run_id)

    await stage.it.end(turn, TurnEnd.LOST)
    await core.settled()

    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]
