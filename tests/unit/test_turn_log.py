"""What a turn does with our tools is kept while it goes on, for the case that the bot is killed."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Settings, TurnEnd
from astrbot_plugin_subagents.manager.testing import Say
from support import core
from support.bringing import Stage, a_stage
from support.lost_turns import MESSAGE, a_turn, begin, killed, open_turns
from support.task_calls import Crew

make_core = core.make_core

READS: Mapping[str, Any] = {
    "list_subagents": {},
    "view_shared_context": {},
    "read_subagent_result": {"task_id": "none"},
}


async def a_troubled_stage(make_core: core.MakeCore) -> tuple[Stage, core.TroubledStore]:
    trouble = core.TroubledStore()
    return await a_stage(make_core, store=trouble.store), trouble


async def test_a_turn_that_only_reads_is_not_kept(make_core: core.MakeCore) -> None:
    stage, trouble = await a_troubled_stage(make_core)
    turn = await a_turn(stage)

    for tool, arguments in READS.items():
        await stage.it.call(tool, turn, **arguments)
    await core.settled()

    assert await open_turns(stage) == []
    await stage.it.end(turn)
    assert {"begin_turn", "add_turn_call", "end_turn"}.isdisjoint(trouble.calls)


async def test_from_its_first_other_call_on_a_turn_is_kept_with_message_and_calls(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await a_turn(stage)
    await stage.it.call("list_subagents", turn)
    stage.it.clock.advance(60)

    task: dict[str, Any] = {"input": "Schau über den Zaun.", "background_task": True}
    given = await stage.it.call("transfer_to_ann", turn, **task)
    told = await stage.it.call("list_subagents", turn)
    await core.settled()

    (record,) = await open_turns(stage)
    assert (record.turn_id, record.session, record.owner) == (turn.turn_id, "chat", "alice")
    assert (record.message, record.executor) == (MESSAGE, "process1")
    assert record.began_at == stage.it.clock.now()
    assert [(call.tool, call.reply) for call in record.calls] == [
        ("transfer_to_ann", given),
        ("list_subagents", told),
    ]
    assert json.loads(record.calls[0].arguments) == task
    assert "über" in record.calls[0].arguments


async def test_a_turn_is_kept_before_anything_that_its_first_call_makes(
    make_core: core.MakeCore,
) -> None:
    stage, trouble = await a_troubled_stage(make_core)
    hold = trouble.hold("add_runs")
    turn = await a_turn(stage)

    calling = asyncio.create_task(stage.begin(turn, "look"))
    await hold.reached.wait()
    (record,) = await open_turns(stage)
    hold.gate.set()
    await calling

    assert (record.turn_id, record.calls) == (turn.turn_id, ())


@pytest.mark.parametrize("end", [TurnEnd.ANSWERED, TurnEnd.STOPPED, TurnEnd.LOST])
async def test_nothing_is_left_of_a_turn_however_it_ends(
    make_core: core.MakeCore, end: TurnEnd
) -> None:
    stage = await a_stage(make_core)
    turn = await a_turn(stage)
    await begin(stage, turn, "look")
    await core.settled()
    kept = await open_turns(stage)

    await stage.it.end(turn, end)
    await stage.it.call("list_subagents", turn)
    await core.settled()

    assert len(kept) == 1
    assert await open_turns(stage) == []


@pytest.mark.parametrize(("executor", "is_lost"), [("process1", False), ("process2", True)])
async def test_a_turn_that_went_on_without_us_is_lost_only_if_the_process_ended(
    make_core: core.MakeCore, executor: str, is_lost: bool
) -> None:
    stage = await a_stage(make_core)
    turn = await a_turn(stage)
    await stage.it.create("dan", turn)
    await core.settled()
    await stage.it.end(turn, TurnEnd.LEFT)
    await stage.it.sessions.close()

    again = await a_stage(make_core, store=stage.it.store, clock=stage.it.clock, executor=executor)

    assert bool(await open_turns(again)) is is_lost


async def test_the_end_of_one_turn_leaves_the_others(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    hers, his = await a_turn(stage), await a_turn(stage, "bob")
    await stage.begin(hers, "one")
    await stage.begin(his, "two", agent="ben")

    await stage.it.end(hers)

    assert [record.owner for record in await open_turns(stage)] == ["bob"]


async def test_long_arguments_and_replies_are_cut(make_core: core.MakeCore) -> None:
    crew = Crew(look=Say(text="z" * 90_000))
    stage = await a_stage(make_core, crew=crew, settings=Settings(result_maxlen=90_000))
    turn = await a_turn(stage)
    stage.crew.let("look")
    await stage.it.call(
        "transfer_to_ann", turn, input="look", image_urls=["https://" + "u" * 90_000]
    )
    await core.settled()

    (record,) = await open_turns(stage)
    (call,) = record.calls
    assert (len(call.arguments), len(call.reply)) == (20_000, 20_000)


@pytest.mark.parametrize("method", ["begin_turn", "add_turn_call"])
async def test_a_tool_works_all_the_same_when_its_call_cannot_be_kept(
    make_core: core.MakeCore, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage, trouble = await a_troubled_stage(make_core)
    turn = await a_turn(stage)
    trouble.failing.add(method)

    (run_id,) = await begin(stage, turn, "look")
    await stage.let("look")
    await stage.it.end(turn)

    assert (await stage.it.run(run_id)).last_text == "look done"
    assert await open_turns(stage) == []
    assert "What a turn does could not be kept" in caplog.text


async def test_an_end_that_the_store_does_not_take_is_tried_again_and_holds_nothing_up(
    make_core: core.MakeCore,
) -> None:
    stage, trouble = await a_troubled_stage(make_core)
    turn = await a_turn(stage)
    await stage.it.create("dan", turn)
    trouble.failing.add("end_turn")

    await stage.it.end(turn)
    manager = await stage.it.open()
    names = [agent.name for agent in manager.agents()]
    idle = manager.is_idle()
    trouble.failing.clear()
    await stage.it.end(await a_turn(stage))

    assert names == ["ann", "ben", "cat"]
    assert not idle
    assert await open_turns(stage) == []
    assert manager.is_idle()


async def test_a_turn_that_ends_before_it_is_written_leaves_nothing(
    make_core: core.MakeCore,
) -> None:
    stage, trouble = await a_troubled_stage(make_core)
    turn = await a_turn(stage)
    hold = trouble.hold("begin_turn")
    await begin(stage, turn, "look")

    ending = asyncio.create_task(stage.it.end(turn))
    await core.settled()
    hold.gate.set()
    await ending
    await core.settled()

    assert await open_turns(stage) == []


async def test_calls_are_written_behind_the_turn_and_in_their_order(
    make_core: core.MakeCore,
) -> None:
    stage, trouble = await a_troubled_stage(make_core)
    turn = await a_turn(stage)
    hold = trouble.hold("begin_turn")
    tools = ("transfer_to_ann", "transfer_to_ben", "list_subagents")
    for tool in tools:
        await stage.it.call(tool, turn, input="look", background_task=True)
    await core.settled()

    hold.gate.set()
    await core.settled()

    (record,) = await open_turns(stage)
    assert tuple(call.tool for call in record.calls) == tools


async def test_of_a_killed_process_the_turns_stay_in_the_store(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    turn = await a_turn(stage)
    await begin(stage, turn, "look")

    await killed(stage)

    (record,) = await open_turns(stage)
    assert [call.tool for call in record.calls] == ["transfer_to_ann"]
