"""The main agent beside its forks on a real AstrBot: all of its own stays as it was."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from standin.protocol import Usage
from support.astrbot_host import Bot
from support.box import RUN_ID, box
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script, said, tool_results
from support.turn import Turn
from support.wire import behind, fields

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

TASKS = [
    {"task": f"Do part {number}.", "context": "fork", "tool_filter": "none"} for number in (1, 2)
]


def work(model: Script) -> None:
    """Let both forks call tools, one of them also one that is refused."""
    model.role("first", said("Do part 1."), call("save_note"), say("Part 1 is done."))
    model.role(
        "second",
        said("Do part 2."),
        calls(("list_notes", {}), ("create_subagent", {"name": "spy", "system_prompt": "Spy."})),
        say("Part 2 is done."),
    )


def extras(turn: Turn) -> dict[str, str]:
    """The kinds of what plugins and AstrBot have noted in a turn's event."""
    return {key: type(value).__name__ for key, value in turn.event.get_extra().items()}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_the_main_agents_next_request_holds_its_call_and_the_reply_and_no_more(
    bot: Bot, model: Script, mode: str, streaming: bool
) -> None:
    await bot.configure(tool_schema_mode=mode, streaming=streaming)
    model.main(call("task", {"tasks": TASKS}), say("Done."))
    work(model)

    async with box(bot, "list_notes", "save_note"):
        turn = await bot.say("do both parts")

    asking, collected = model.requests_of("main")
    called, answered = json.loads(f"[{behind(collected, asking)[1:]}]")
    assert turn.answers == ("Done.",)
    assert [each["function"]["name"] for each in called["tool_calls"]] == ["task"]
    assert (answered["role"], answered["tool_call_id"]) == ("tool", called["tool_calls"][0]["id"])
    assert "2 of 2 tasks completed." in answered["content"]


async def test_the_history_in_astrbots_database_is_that_of_a_turn_with_one_tool_call(
    bot: Bot, model: Script
) -> None:
    model.main(call("task", {"tasks": TASKS}), say("Done."), say("Bye."))
    work(model)

    async with box(bot, "list_notes", "save_note"):
        await bot.say("do both parts")
        kept = await bot.history()
        await bot.say("bye")

    later = model.requests_of("main")[2]
    talk = [each for each in kept if each["role"] in {"user", "assistant", "tool"}]
    assert [each["role"] for each in talk] == ["user", "assistant", "tool", "assistant"]
    assert "save_note is done." not in str(kept)
    assert [each["role"] for each in later.messages] == [
        "system",
        *(each["role"] for each in talk),
        "user",
    ]
    assert tool_results(later) == [talk[2]["content"]]


async def test_the_event_and_the_tools_of_a_turn_with_forks_are_those_of_one_without(
    bot: Bot, model: Script
) -> None:
    model.main(call("list_subagents"), say("None."), call("task", {"tasks": TASKS}), say("Done."))
    work(model)

    async with box(bot, "list_notes", "save_note") as tools:
        without = await bot.say("who is there?")
        tools.hooks.clear()
        turn = await bot.say("do both parts")
        of_turn = [hook for hook, _, run_id in tools.hooks if run_id is None]

    before, _, asking, collected = model.requests_of("main")
    request: Any = turn.event.get_extra("provider_request")
    assert extras(turn) == extras(without)
    assert RUN_ID not in extras(turn)
    assert request.prompt == "do both parts"
    assert {tool.name for tool in request.func_tool} == set(asking.tool_names())
    assert len({fields(each)["tools"] for each in (before, asking, collected)}) == 1
    assert (turn.stopped, turn.event.role) == (False, without.event.role)
    assert sorted(of_turn) == sorted(
        ["waiting", "request", "begin", "using", "respond", "response", "done"]
    )


async def test_a_fork_repeats_what_came_up_while_its_main_agent_worked(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    behind_it = {"input": "Look.", "background_task": True}
    model.main(
        call("create_subagent", {"name": "scout", "system_prompt": "You look."}),
        call("transfer_to_scout", behind_it),
        after(gate, call("list_subagents")),
        call("task", {"tasks": [{"task": "Judge it.", "context": "fork"}]}),
        say("Done."),
    )
    model.child("scout", say("I found a cave."))
    model.role("fork", said("Judge it."), say("Well said."))

    with plugin_events(bot) as events:
        running = bot.post("look around")
        await model.reached("main", 3)
        await events.run_over()
        gate.set()
        await running.done()

    asking, (forked,) = model.requests_of("main")[3], model.requests_of("fork")
    assert "I found a cave." in asking.last_user_text()
    assert behind(forked, asking) == ',{"role":"user","content":"Judge it."}'


async def test_a_fork_is_not_compressed_where_its_main_agent_was_not(
    bot: Bot, model: Script
) -> None:
    turns = [
        {"role": role, "content": f"{number} {'word ' * 400}"}
        for number in range(20)
        for role in ("user", "assistant")
    ]
    conversations = bot.context.conversation_manager
    chat = await conversations.new_conversation(bot.umo())
    await conversations.update_conversation(bot.umo(), chat, history=turns, token_usage=11_000)
    counted = Usage(prompt_tokens=11_000, completion_tokens=9)
    fork = {"task": "Judge it.", "context": "fork", "tool_filter": "none"}
    asking = replace(call("task", {"tasks": [fork]}), usage=counted)
    model.main(asking, say("Done.", usage=counted))
    listing = replace(call("list_notes"), usage=counted)
    model.role("fork", said("Judge it."), listing, say("Well said."))
    # by AstrBot's guess the history is far over this, by the provider's count it is not
    provider = bot.context.get_all_providers()[0].provider_config
    usual, provider["max_context_tokens"] = provider["max_context_tokens"], 20_000

    async with box(bot, "list_notes"):
        await bot.say("judge it")
    provider["max_context_tokens"] = usual

    before, (first, second) = model.requests_of("main")[0], model.requests_of("fork")
    assert behind(first, before) == ',{"role":"user","content":"Judge it."}'
    assert second.messages[: len(first.messages)] == first.messages


async def test_a_fork_that_may_not_read_files_gets_the_head_of_what_is_too_long_itself(
    bot: Bot, model: Script
) -> None:
    await bot.configure(
        extra={"provider_settings": {"computer_use_runtime": "local"}, "admins_id": ["alice"]}
    )
    fork = {"task": "Read on.", "context": "fork", "tool_filter": "no_files"}
    model.main(call("task", {"tasks": [fork]}), say("Done."))
    model.role("fork", said("Read on."), call("list_notes"), say("It is long."))
    no_files = {"name": "no_files", "mode": "blacklist", "denied": ["astrbot_file_read_tool"]}

    async with (
        plugin_config(bot, task={"custom_filters": [no_files]}),
        box(bot, "list_notes") as tools,
    ):
        tools.words = "one more word " * 20_000
        await bot.say("read the long one")

    (result,) = tool_results(model.requests_of("fork")[1])
    assert "astrbot_file_read_tool" not in result
    assert len(result) > 40_000
