"""AstrBot's own static sub-agents: taken over under the same tool name, or left as they are."""

from typing import Any

import pytest

from support.astrbot_host import Bot
from support.host_agents import core_sub_agents, persona, plugin_config
from support.replies import call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

COOK = {"name": "cook", "system_prompt": "You cook.", "public_description": "Cooks."}
SOUP = call("transfer_to_cook", {"input": "Soup."})


def transfers(names: tuple[str, ...]) -> list[str]:
    """The hand-offs among the names of tools."""
    return [name for name in names if name.startswith("transfer_to_")]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_astrbots_agent_is_ours_under_its_tool_name_and_remembers(
    bot: Bot, model: Script, mode: str, streaming: bool
) -> None:
    await bot.configure(tool_schema_mode=mode, streaming=streaming)
    await core_sub_agents(bot, COOK)
    model.main(SOUP, say("one"), SOUP, say("two"))
    model.child("cook", say("Leek soup."), say("Leek soup again."))

    await bot.say("soup")
    await bot.say("more")

    first, second, *_ = model.requests_of("main")
    assert transfers(first.tool_names()) == ["transfer_to_cook"]
    assert "cook: Cooks." in first.last_user_text()
    (result,) = tool_results(second)
    assert "sub-agent: cook" in result
    assert "Leek soup." in result
    once, again = model.requests_of("cook")
    assert "You are the sub-agent cook.\nYou cook." in once.system_text()
    assert "Leek soup." in str(again.messages)
    assert bot.errors == []


async def test_its_configuration_counts_as_it_is_at_each_turn(bot: Bot, model: Script) -> None:
    model.main(SOUP, say("one"), SOUP, say("two"), SOUP, say("three"))
    model.child("cook", say("Leek."), say("Bean."))

    await core_sub_agents(bot, COOK)
    await bot.say("soup")
    await core_sub_agents(bot, {**COOK, "system_prompt": "You fry."})
    await bot.say("soup")
    await core_sub_agents(bot)
    await bot.say("soup")

    first, second = model.requests_of("cook")
    assert "You cook." in first.system_text()
    assert "You fry." in second.system_text()
    assert transfers(model.requests_of("main")[4].tool_names()) == []


async def test_its_persona_dialogue_and_tools_are_looked_up_when_a_task_starts(
    bot: Bot, model: Script, weather: Any
) -> None:
    agent = {"name": "cook", "persona_id": "chef", "tools": []}
    model.main(SOUP, say("one"), SOUP, say("two"))
    model.child("cook", say("Leek."), call("get_weather", {"city": "Rome"}), say("Cold soup."))

    async with persona(bot, "chef", "You roast.", begin_dialogs=["Hi", "Hey"], tools=[]) as chef:
        await core_sub_agents(bot, agent)
        await bot.say("soup")
        await bot.context.persona_manager.update_persona(
            chef, "You grill.", ["Yo", "Ho"], tools=["get_weather"]
        )
        await bot.say("soup")

    first, second, _ = model.requests_of("cook")
    assert "cook: You roast." in model.requests_of("main")[0].last_user_text()
    assert "You roast." in first.system_text()
    assert set(first.tool_names()) == {"send_shared_context", "ask_question"}
    assert first.messages[1]["content"] == "Hi"
    assert "You grill." in second.system_text()
    assert [each["content"] for each in second.messages[1:5]][2:] == ["Yo", "Ho"]
    assert set(second.tool_names()) == {"get_weather", "send_shared_context", "ask_question"}
    assert [city for _, _, city in weather.asked] == ["Rome"]


@pytest.mark.parametrize(("tools", "has_weather"), [(None, True), ([], False)])
async def test_null_is_all_tools_and_the_empty_list_is_none_as_in_astrbot(
    bot: Bot, model: Script, weather: Any, tools: Any, has_weather: bool
) -> None:
    await core_sub_agents(bot, {**COOK, "tools": tools})
    model.main(SOUP, say("done"))
    model.child("cook", say("Leek."))

    await bot.say("soup")

    (request,) = model.requests_of("cook")
    assert ("get_weather" in request.tool_names()) is has_weather
    assert "create_subagent" not in request.tool_names()
    assert transfers(request.tool_names()) == []


async def test_its_provider_is_used(bot: Bot, model: Script) -> None:
    await core_sub_agents(bot, {**COOK, "provider_id": "nowhere"})
    model.main(SOUP, say("done"))

    await bot.say("soup")

    assert "nowhere" in tool_results(model.requests_of("main")[1])[0]


async def test_a_name_that_only_astrbot_allows_works(bot: Bot, model: Script) -> None:
    await core_sub_agents(bot, {**COOK, "name": "sous-chef_" + "x" * 30})
    name = "sous-chef_" + "x" * 30
    model.main(call(f"transfer_to_{name}", {"input": "Soup."}), say("done"))
    model.child("sous", say("Leek."))

    await bot.say("soup")

    assert "Leek." in tool_results(model.requests_of("main")[1])[0]


async def test_ours_goes_before_astrbots_of_the_same_name(bot: Bot, model: Script) -> None:
    await core_sub_agents(bot, COOK)
    model.main(SOUP, say("done"))
    model.child("cook", say("Leek."))

    async with plugin_config(bot, static_agents=[{"name": "cook", "system_prompt": "You bake."}]):
        await bot.say("soup")

    (request,) = model.requests_of("cook")
    assert "You bake." in request.system_text()
    assert transfers(model.requests_of("main")[0].tool_names()) == ["transfer_to_cook"]


async def test_a_hand_off_of_another_plugin_stays_as_it_is(bot: Bot, model: Script) -> None:
    await bot.plugins.add("test_hand_off", HAND_OFF)
    await core_sub_agents(bot, COOK)
    model.main(call("transfer_to_waiter", {"input": "x"}), say("done"))
    model.role("waiter", lambda request: "You wait." in request.system_text(), say("Served."))

    await bot.say("serve")
    await bot.plugins.uninstall("test_hand_off")

    first, second = model.requests_of("main")
    assert set(transfers(first.tool_names())) == {"transfer_to_cook", "transfer_to_waiter"}
    assert tool_results(second) == ["Served."]


async def test_a_child_gets_no_hand_off_that_was_taken_over(bot: Bot, model: Script) -> None:
    await core_sub_agents(bot, COOK)
    wanted = {"name": "boss", "system_prompt": "Lead.", "tools": ["transfer_to_cook"]}
    model.main(call("create_subagent", wanted), say("done"))

    await bot.say("make one")

    (refused,) = tool_results(model.requests_of("main")[1])
    assert "Unknown tool: transfer_to_cook" in refused


async def test_left_to_astrbot_they_run_as_before_and_their_names_are_taken(
    bot: Bot, model: Script, caplog: pytest.LogCaptureFixture
) -> None:
    await core_sub_agents(bot, COOK)
    model.main(
        calls(
            ("transfer_to_cook", {"input": "Soup."}),
            ("create_subagent", {"name": "Cook", "system_prompt": "x"}),
            ("list_subagents", {}),
        ),
        say("done"),
        say("hello"),
    )
    model.role("cook", lambda request: request.system_text() == "You cook.", say("Leek."))
    mine = [{"name": "COOK", "system_prompt": "Mine."}, {"name": "baker", "system_prompt": "Mine."}]

    with caplog.at_level("WARNING"):
        async with plugin_config(bot, manage_core_subagents=False, static_agents=mine):
            await bot.say("soup")
            await bot.say("hello")

    first, second, _ = model.requests_of("main")
    cooked, refused, listed = tool_results(second)
    assert sorted(transfers(first.tool_names())) == ["transfer_to_baker", "transfer_to_cook"]
    assert cooked == "Leek."
    assert "is taken by another tool" in refused
    assert "baker" in listed
    assert "cook" not in listed.lower()
    assert len([each for each in caplog.messages if "'COOK'" in each]) == 1


async def test_when_astrbot_has_them_off_there_are_none(bot: Bot, model: Script) -> None:
    await core_sub_agents(bot, COOK, main_enable=False)
    model.main(say("hello"))

    await bot.say("hello")

    assert transfers(model.requests_of("main")[0].tool_names()) == []


HAND_OFF = """
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star
from astrbot.core.agent.agent import Agent
from astrbot.core.agent.handoff import HandoffTool

class Plugin(Star):
    @filter.on_llm_request()
    async def offer(self, event: AstrMessageEvent, req):
        req.func_tool.add_tool(
            HandoffTool(agent=Agent(name="waiter", instructions="You wait.", tools=[]))
        )
"""
