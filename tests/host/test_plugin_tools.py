"""Our tools in the main agent's hands: they come and go within a turn, and answer with one text."""

from typing import Any

import pytest

from support.astrbot_host import Bot
from support.replies import call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MANAGEMENT = {
    "create_subagent",
    "remove_subagent",
    "list_subagents",
    "reset_subagent",
    "protect_subagent",
    "unprotect_subagent",
    "wait_for_subagent",
    "cancel_subagent_task",
    "read_subagent_result",
    "send_shared_context_for_main_agent",
    "view_shared_context",
}
POET = {"name": "poet", "system_prompt": "Write verse.", "description": "Writes verse."}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_an_agent_is_a_tool_in_the_very_next_request_and_none_after_its_removal(
    bot: Bot, model: Script, mode: str, streaming: bool
) -> None:
    await bot.configure(tool_schema_mode=mode, streaming=streaming)
    model.main(
        call("create_subagent", POET),
        call("transfer_to_poet", {"input": "A verse on rain."}),
        call("remove_subagent", {"name": "poet"}),
        say("Here is your verse: drip drop."),
    )
    model.child("poet", say("Drip drop."))

    turn = await bot.say("a poem on rain, please")

    assert turn.answer == "Here is your verse: drip drop."
    assert bot.errors == []
    made = ["transfer_to_poet" in each.tool_names() for each in model.requests_of("main")]
    assert made == [False, True, True, False]
    assert "Drip drop." in tool_results(model.requests_of("main")[2])[1]
    if mode == "skills_like":
        (asked_again,) = [x for x in model.requeries if "transfer_to_poet" in x.tool_names()]
        assert "input" in asked_again.tool_parameters("transfer_to_poet")


async def test_the_main_agent_has_the_management_tools_and_the_router_prompt(
    bot: Bot, model: Script
) -> None:
    model.main(say("hello"))

    await bot.say("hello")

    (request,) = model.requests_of("main")
    assert set(request.tool_names()) >= MANAGEMENT
    assert len(request.tool_names()) == len(set(request.tool_names()))
    assert "# Sub-agents" in request.system_text()
    assert "state of this chat" not in request.last_user_text()


async def test_an_agent_that_stays_is_named_in_the_next_turn_but_not_in_the_history(
    bot: Bot, model: Script
) -> None:
    model.main(
        call("create_subagent", POET), call("protect_subagent", {"name": "poet"}), say("made")
    )
    await bot.say("make a poet")
    model.main(say("fine"))

    await bot.say("and?")

    request = model.requests_of("main")[-1]
    assert "transfer_to_poet" in request.tool_names()
    assert "poet: Writes verse." in request.last_user_text()
    assert "poet" not in request.system_text()
    users = [str(each["content"]) for each in await bot.history() if each["role"] == "user"]
    assert all("state of this chat" not in each for each in users)


async def test_an_agent_never_takes_the_place_of_another_tool(bot: Bot, model: Script) -> None:
    await bot.plugins.add("test_shadow", _shadow("transfer_to_poet"))
    model.main(call("create_subagent", POET), call("transfer_to_poet", {"input": "x"}), say("done"))

    await bot.say("make a poet")
    await bot.plugins.uninstall("test_shadow")

    created, used = tool_results(model.requests_of("main")[2])
    assert created.startswith("Error:")
    assert used == "the other plugin"


async def test_a_tool_of_another_plugin_with_our_name_stays(bot: Bot, model: Script) -> None:
    await bot.plugins.add("test_shadow", _shadow("list_subagents"))
    model.main(call("list_subagents"), say("done"))

    await bot.say("list them")
    await bot.plugins.uninstall("test_shadow")

    request = model.requests_of("main")[1]
    assert tool_results(request) == ["the other plugin"]
    assert request.tool_names().count("list_subagents") == 1


@pytest.mark.parametrize(
    "name",
    [
        "context",
        "tool",
        "handler",
        "method_name",
        "run_context",
        "tool_call_timeout",
        "cls",
        "self",
    ],
)
async def test_an_argument_with_a_name_of_astrbots_own_gets_a_clear_text(
    bot: Bot, model: Script, name: str
) -> None:
    model.main(call("list_subagents", {name: "x"}), say("done"))

    await bot.say("list them")

    (text,) = tool_results(model.requests_of("main")[1])
    assert f"`{name}` is not a parameter." in text
    assert "Parameters: include_status." in text


@pytest.mark.parametrize(
    "arguments",
    [{"": 1}, {"a-b": 1}, {"name": None}, {"name": ["poet"]}, {"__class__": 1, "name": "poet"}],
)
async def test_strange_arguments_get_one_text_and_change_nothing(
    bot: Bot, model: Script, arguments: dict[str, Any]
) -> None:
    model.main(call("create_subagent", arguments), call("list_subagents"), say("done"))

    turn = await bot.say("make one")

    refused, listed = tool_results(model.requests_of("main")[2])
    assert turn.answer == "done"
    assert refused.startswith("Error:")
    assert "poet" not in listed


async def test_several_calls_of_one_answer_get_one_result_each(bot: Bot, model: Script) -> None:
    pianist = {"name": "pianist", "system_prompt": "Play."}
    model.main(
        calls(("create_subagent", POET), ("create_subagent", pianist), ("list_subagents", {})),
        say("done"),
    )

    await bot.say("make two")

    results = tool_results(model.requests_of("main")[1])
    assert len(results) == 3
    assert "poet" in results[2]
    assert "pianist" in results[2]


def _shadow(name: str) -> str:
    return f"""
from astrbot.api import FunctionTool
from astrbot.api.star import Star

class Shadow(FunctionTool):
    async def call(self, context, **arguments):
        return "the other plugin"

class Plugin(Star):
    async def initialize(self):
        parameters = {{"type": "object", "properties": {{}}}}
        tool = Shadow(name={name!r}, description="Mine.", parameters=parameters)
        self.context.add_llm_tools(tool)
"""
