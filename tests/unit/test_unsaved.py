"""While the store takes nothing the main model is told so with each result, and the log once."""

import pytest

from astrbot_plugin_subagents.manager import Turn
from astrbot_plugin_subagents.manager.testing import Say, Use, says
from support import core

make_core = core.make_core

UNSAVED = "Note: the bot cannot save anything just now"


async def a_core(make_core: core.MakeCore) -> tuple[core.Core, core.TroubledStore, Turn]:
    trouble = core.TroubledStore()
    script = says(Use(tool="write"), Use(tool="write"), Say(text="done"))
    it = await make_core(script, store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    trouble.failing.add("write_run")
    return it, trouble, turn


async def test_a_result_says_that_it_is_in_memory_alone_until_it_is_written(
    make_core: core.MakeCore,
) -> None:
    it, trouble, turn = await a_core(make_core)

    unsaved = await it.call("transfer_to_scout", turn, input="x")
    trouble.failing.clear()
    saved = await it.call("transfer_to_scout", turn, input="y")

    assert "state: completed" in unsaved
    assert unsaved.count(UNSAVED) == 1
    assert "state: completed" in saved
    assert UNSAVED not in saved


async def test_results_that_wait_for_the_next_turn_say_it_too(make_core: core.MakeCore) -> None:
    it, trouble, turn = await a_core(make_core)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await it.until_over(run_id)

    notes = await it.notes(await it.turn())

    assert "state: completed" in notes
    assert notes.count(UNSAVED) == 1
    trouble.failing.clear()


async def test_the_log_tells_at_length_when_it_begins_and_briefly_after_that(
    make_core: core.MakeCore, caplog: pytest.LogCaptureFixture
) -> None:
    it, trouble, turn = await a_core(make_core)

    await it.call("transfer_to_scout", turn, input="x")
    trouble.failing.clear()

    told = [
        (record.levelname, record.exc_info is not None)
        for record in caplog.records
        if "recorded" in record.getMessage()
    ]
    assert told == [("ERROR", True), *[("WARNING", False)] * 3]
