"""The same brief to the same agent for the same user is not started twice at once."""

import asyncio
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Turn
from astrbot_plugin_subagents.manager.errors import AlreadyRunning
from astrbot_plugin_subagents.manager.testing import Hang, Say, says
from support import core
from support.asking import asking
from support.bringing import a_stage

make_core = core.make_core
IMAGE, OTHER_IMAGE = "https://one.example/a.png", "https://one.example/b.png"


async def test_a_brief_that_is_under_way_is_refused_and_its_task_is_named(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    (run_id,) = await stage.begin(turn, "Look at  the map.")
    before = (turn.starts, set(turn.children), await core.snapshot(stage.it))

    replies = [
        await stage.it.call(tool, turn, input=brief, background_task=background)
        for tool in ("transfer_to_ann",)
        for brief in ("Look at  the map.", " Look at the\nmap. ")
        for background in (True, False)
    ]

    for reply in replies:
        assert reply == (
            f"Error: Sub-agent 'ann' has this very task already: task {run_id}. Wait for it with "
            f'`wait_for_subagent`, task_id "{run_id}", or end your turn: the result is delivered. '
            "Give a different task if you meant another one."
        )
    assert (turn.starts, set(turn.children), await core.snapshot(stage.it)) == before


@pytest.mark.parametrize("state", ["queued", "waiting"])
async def test_it_is_under_way_also_in_the_line_and_while_it_asks(
    make_core: core.MakeCore, state: str
) -> None:
    stage = await asking(make_core)
    turn = await stage.it.turn()
    if state == "queued":
        await stage.begin(turn, "hang")
    (run_id,) = await stage.begin(turn, "ask")
    await core.settled()
    assert (await stage.it.run(run_id)).state == state

    reply = await stage.it.call("transfer_to_ann", turn, input="ask", background_task=True)

    assert f"task {run_id}." in reply


async def test_another_turn_of_the_user_is_refused_too(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await stage.after_turn("look")

    reply = await stage.it.call("transfer_to_ann", await stage.it.turn(), input="look")

    assert f"task {run_id}." in reply


async def test_another_user_agent_brief_or_image_is_another_task(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    alice, bob = await stage.it.turn(), await stage.it.turn("bob")

    async def give(turn: Turn, agent: str = "ann", **arguments: Any) -> str:
        given: dict[str, Any] = {"input": "look", "background_task": True, **arguments}
        return await stage.it.call(f"transfer_to_{agent}", turn, **given)

    replies = [
        await give(alice),
        await give(bob),
        await give(alice, "ben"),
        await give(alice, input="Look"),
        await give(alice, image_urls=[IMAGE]),
        await give(alice, image_urls=[OTHER_IMAGE, IMAGE]),
    ]
    same = await give(alice, image_urls=[IMAGE, OTHER_IMAGE])

    assert [reply.startswith("task_id: ") for reply in replies] == [True] * 6
    assert same.startswith("Error: ")


async def test_what_is_over_may_be_asked_for_again(make_core: core.MakeCore) -> None:
    it = await make_core(says(Say(text="done")), static=("ann",))
    turn = await it.turn()

    replies = [await it.call("transfer_to_ann", turn, input="look") for _ in range(2)]

    assert ["state: completed" in reply for reply in replies] == [True, True]
    assert len(set(map(core.task_id, replies))) == 2


async def test_of_several_at_once_one_is_started(make_core: core.MakeCore) -> None:
    it = await make_core(says(Hang()), static=("ann",))
    turn = await it.turn()
    manager = await it.open()

    results = await asyncio.gather(
        *(
            manager.delegate("ann", "look", turn, background=True, image_urls=[IMAGE])
            for _ in range(5)
        ),
        return_exceptions=True,
    )

    assert [type(each) for each in results].count(AlreadyRunning) == 4
    assert len(manager.runs.live()) == 1
    assert turn.starts == 1


async def test_a_start_that_the_store_refuses_leaves_the_brief_free(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, store=trouble.store)
    turn = await stage.it.turn()
    trouble.failing.add("add_runs")
    failed = await stage.it.call("transfer_to_ann", turn, input="look", background_task=True)
    trouble.failing.clear()

    assert failed.startswith("Error: The store cannot be used")
    assert len(await stage.begin(turn, "look")) == 1
