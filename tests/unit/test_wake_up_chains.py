"""A main agent that starts work in each wake-up comes to an end without its user."""

from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager.models import Origin
from astrbot_plugin_subagents.manager.store.codec_origin import origin_text, read_origin
from support import core
from support.bringing import a_stage
from support.task_calls import a_task

make_core = core.make_core


@pytest.mark.parametrize("tool", ["transfer_to_ann", "task"])
async def test_the_fourth_result_in_a_row_waits_for_its_owner(
    make_core: core.MakeCore, tool: str
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    replies: list[str] = []
    for number in range(4):
        name = f"n{number}"
        given = {"input": name} if tool != "task" else {"tasks": [a_task(name)]}
        replies.append(await stage.it.call(tool, turn, background_task=True, **given))
        await stage.it.end(turn)
        await stage.let(name)
        turn = await stage.it.turn()
        if number < 3:
            turn.origin = stage.messenger.begun[-1].origin

    waiting = await (await stage.it.open()).collect(turn)

    assert [errand.origin.generation for errand in stage.messenger.begun] == [1, 2, 3]
    assert ["will not wake you" in reply for reply in replies] == [False, False, False, True]
    assert [run.input for run in waiting] == ["n3"]


def test_a_stored_origin_keeps_its_place_in_the_chain_and_old_ones_begin_one() -> None:
    origin = Origin(adapter="qq", generation=2)

    assert read_origin(origin_text(origin)) == origin
    assert read_origin('{"adapter": "qq"}') == replace(origin, generation=0)
