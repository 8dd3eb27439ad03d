"""Two chats, and two bots in one process, never meet."""

from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager import DynamicAgentSettings, SessionId, Settings
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from astrbot_plugin_subagents.manager.workdir import session_folder
from support import core

make_core = core.make_core


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("wait_for_subagent", {"task_id": "TASK"}),
        ("wait_for_subagent", {"subagent_name": "scout"}),
        ("cancel_subagent_task", {"task_id": "TASK"}),
        ("cancel_subagent_task", {"subagent_name": "scout"}),
        ("read_subagent_result", {"task_id": "TASK"}),
        ("remove_subagent", {"name": "scout"}),
        ("reset_subagent", {"name": "scout"}),
        ("protect_subagent", {"name": "scout"}),
        ("unprotect_subagent", {"name": "scout"}),
    ],
)
async def test_another_chats_agents_and_tasks_are_not_there_not_even_for_an_admin(
    make_core: core.MakeCore, tool: str, arguments: dict[str, str]
) -> None:
    it = await make_core(host=FakeHost(says(Hang()), admins=("root",)))
    mine = await it.turn("root", session="mine", is_admin=True)
    await it.create("scout", mine)
    run_id = core.task_id(await it.call("transfer_to_scout", mine, input="x", background_task=True))
    await core.settled()
    before = await core.snapshot(it, "mine")
    other = await it.turn("root", session="other", is_admin=True)

    named = {key: run_id if value == "TASK" else value for key, value in arguments.items()}
    reply = await it.call(tool, other, 60, **named)

    assert reply.startswith("Error: There is no ")
    assert await core.snapshot(it, "mine") == before


async def test_the_same_name_in_two_chats_is_two_agents(make_core: core.MakeCore) -> None:
    it = await make_core(says(Say(text="done")))
    turns = [await it.turn(session=session) for session in ("one", "two")]
    for turn in turns:
        await it.create("scout", turn, system_prompt=f"You are in {turn.session}.")
        await it.call("transfer_to_scout", turn, input=f"I am {turn.session}")

    await it.call("transfer_to_scout", turns[0], input="again")

    history = [body["content"] for body in it.host.requests[-1].history]
    assert history == ["I am one", "done"]
    assert "You are in one." in it.host.requests[-1].system_prompt


async def test_a_result_comes_only_to_its_own_chat(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn(session="one")
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await it.until_over(run_id)

    assert await it.notes(await it.turn(session="two")) == ""
    assert run_id in await it.notes(await it.turn(session="one"))


@pytest.mark.parametrize(
    ("one", "two"),
    [("a:b", "a_b"), ("a/b", "a:b"), ("..", "."), ("", "_"), ("x" * 50, "x" * 51), ("A", "a ")],
)
def test_two_chats_never_share_a_folder(tmp_path: Path, one: str, two: str) -> None:
    folders = [session_folder(tmp_path, SessionId(session)) for session in (one, two)]

    assert folders[0] != folders[1]
    assert {folder.parent for folder in folders} == {tmp_path}


async def test_two_bots_in_one_process_keep_their_settings_agents_and_places(
    make_core: core.MakeCore,
) -> None:
    small = await make_core(
        says(Hang()),
        settings=Settings(
            dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=1),
            max_parallel_total=1,
        ),
    )
    large = await make_core(says(Say(text="done")), settings=core.many_agents())
    turns = [await each.turn() for each in (small, large)]
    for it, turn in zip((small, large), turns, strict=True):
        await it.create("scout", turn)
    await small.call("transfer_to_scout", turns[0], input="x", background_task=True)

    refused = await small.call("create_subagent", turns[0], name="b", system_prompt="B.")
    made = await large.call("create_subagent", turns[1], name="b", system_prompt="B.")
    reply = await large.call("transfer_to_scout", turns[1], input="x")

    assert refused.startswith("Error: The limit of 1 ")
    assert made.startswith("Sub-agent b is ready")
    assert "state: completed" in reply
    assert len((await small.open()).agents()) == 1
    assert len(large.host.requests) == 1
    assert small.host.requests[0].agent == "scout"


async def test_two_bots_hear_only_their_own_events(make_core: core.MakeCore) -> None:
    one, two = await make_core(), await make_core()

    await one.create("scout", await one.turn())

    assert len(one.events) == 1
    assert two.events == []
