"""What static agents change in the main agent's list of tools: duplicates hidden, one hand-off."""

import json
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.host_agents import core_sub_agents, persona, plugin_config, use_persona
from support.replies import call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

FORECASTER = {"name": "forecaster", "system_prompt": "Forecast.", "tools": ["get_weather"]}
COOK = {"name": "cook", "system_prompt": "You cook.", "public_description": "Cooks."}
POET = {"name": "poet", "system_prompt": "Write verse.", "tools": ["get_weather"]}
SINGLE = {"handoff": "single"}


def transfers(names: tuple[str, ...]) -> list[str]:
    """The hand-offs among the names of tools."""
    return [name for name in names if name.startswith("transfer_to_")]


async def test_a_duplicate_is_hidden_from_the_main_agent_and_children_still_get_it(
    bot: Bot, model: Script, weather: Any
) -> None:
    model.main(
        calls(("create_subagent", POET), ("get_weather", {"city": "Oslo"})),
        calls(("transfer_to_poet", {"input": "a"}), ("transfer_to_forecaster", {"input": "b"})),
        say("done"),
    )
    model.child("poet", call("get_weather", {"city": "Rome"}), say("Sunny verse."))
    model.child("forecaster", call("get_weather", {"city": "Bern"}), say("Sunny."))

    async with plugin_config(bot, static_agents=[FORECASTER], remove_main_duplicate_tools=True):
        await bot.say("the weather in verse")

    first, second, _ = model.requests_of("main")
    assert "get_weather" not in first.tool_names()
    assert "create_subagent" in first.tool_names()
    assert "Sub-agent poet is ready" in tool_results(second)[0]
    assert "not found" in tool_results(second)[1]
    assert [city for _, _, city in weather.asked] == ["Rome", "Bern"]


@pytest.mark.parametrize(
    "change",
    [
        {"tools": ["*"]},
        {"tools": None},
        {"tools": []},
        {"personas": ["somebody_else"]},
        {"enabled": False},
    ],
    ids=str,
)
async def test_only_tools_that_a_usable_agent_has_by_name_are_hidden(
    bot: Bot, model: Script, weather: Any, change: dict[str, Any]
) -> None:
    model.main(say("hello"))

    entry = {**FORECASTER, **change}
    async with plugin_config(bot, static_agents=[entry], remove_main_duplicate_tools=True):
        await bot.say("hello")

    assert "get_weather" in model.requests_of("main")[0].tool_names()


async def test_a_tool_that_no_child_gets_is_not_hidden(
    bot: Bot, model: Script, weather: Any
) -> None:
    model.main(say("hello"))

    async with plugin_config(
        bot,
        static_agents=[FORECASTER],
        remove_main_duplicate_tools=True,
        dynamic_agents={"tools_blacklist": ["get_weather"]},
    ):
        await bot.say("hello")

    assert "get_weather" in model.requests_of("main")[0].tool_names()


async def test_a_tool_that_the_main_agents_persona_lists_is_not_hidden(
    bot: Bot, model: Script, weather: Any
) -> None:
    model.main(say("hello"))

    async with (
        plugin_config(bot, static_agents=[FORECASTER], remove_main_duplicate_tools=True),
        persona(bot, "pilot", "You fly.", tools=["get_weather"]),
    ):
        await use_persona(bot, "pilot")
        await bot.say("hello")

    assert "get_weather" in model.requests_of("main")[0].tool_names()


async def test_tools_of_an_agents_persona_and_of_astrbots_agents_count_too(
    bot: Bot, model: Script, weather: Any
) -> None:
    await bot.plugins.add("test_more", MORE)
    await core_sub_agents(bot, {**COOK, "tools": ["boil"]})
    model.main(say("hello"))

    entry = {"name": "forecaster", "persona_id": "meteo", "tools": []}
    async with (
        plugin_config(bot, static_agents=[entry], remove_main_duplicate_tools=True),
        persona(bot, "meteo", "You look up.", tools=["get_weather", "list_subagents"]),
    ):
        await bot.say("hello")
    await bot.plugins.uninstall("test_more")

    names = model.requests_of("main")[0].tool_names()
    assert {"get_weather", "boil"}.isdisjoint(names)
    assert {"list_subagents", "transfer_to_cook", "transfer_to_forecaster"} <= set(names)


async def test_with_one_hand_off_the_tools_are_the_same_bytes_whatever_agents_there_are(
    bot: Bot, model: Script
) -> None:
    await core_sub_agents(bot, COOK)
    model.main(
        call("create_subagent", {"name": "poet", "system_prompt": "Write verse."}),
        calls(
            ("transfer_to_subagent", {"name": "poet", "input": "Rain."}),
            ("transfer_to_subagent", {"name": "cook", "input": "Soup."}),
            ("transfer_to_subagent", {"name": "baker", "input": "Bread."}),
            ("transfer_to_subagent", {"name": "nobody", "input": "x"}),
            ("remove_subagent", {"name": "poet"}),
        ),
        say("done"),
        say("hello"),
    )
    for name, words in (("poet", "Drip."), ("cook", "Leek."), ("baker", "Rye.")):
        model.child(name, say(words))
    baker = {"name": "baker", "system_prompt": "Bake."}

    async with plugin_config(bot, dynamic_agents=SINGLE, static_agents=[baker]):
        await bot.say("a poem and a meal")
        await bot.say("hello")

    requests = model.requests_of("main")
    assert transfers(requests[0].tool_names()) == ["transfer_to_subagent"]
    assert len({_tools(each.raw) for each in requests}) == 1
    created, poem, soup, bread, refused, removed = tool_results(requests[2])
    assert 'transfer_to_subagent(name="poet")' in created
    assert [word in text for word, text in (("Drip.", poem), ("Leek.", soup), ("Rye.", bread))] == [
        True,
        True,
        True,
    ]
    assert "not found" in refused or "no sub-agent named" in refused
    assert "poet" in removed
    assert "transfer_to_subagent" in requests[0].system_text()


@pytest.mark.parametrize("streaming", [False, True])
async def test_with_one_hand_off_the_light_list_stays_the_same_too(
    bot: Bot, model: Script, streaming: bool
) -> None:
    await bot.configure(tool_schema_mode="skills_like", streaming=streaming)
    model.main(
        call("create_subagent", {"name": "poet", "system_prompt": "Write verse."}),
        call("transfer_to_subagent", {"name": "poet", "input": "Rain."}),
        say("done"),
    )
    model.child("poet", say("Drip."))

    async with plugin_config(bot, dynamic_agents=SINGLE):
        turn = await bot.say("a poem")

    assert turn.answer == "done"
    assert "Drip." in tool_results(model.requests_of("main")[2])[1]
    assert len({_tools(each.raw) for each in model.requests_of("main")}) == 1


async def test_with_one_hand_off_and_astrbots_left_alone_theirs_stay(
    bot: Bot, model: Script
) -> None:
    await core_sub_agents(bot, COOK)
    model.main(say("hello"))

    async with plugin_config(bot, dynamic_agents=SINGLE, manage_core_subagents=False):
        await bot.say("hello")

    names = model.requests_of("main")[0].tool_names()
    assert sorted(transfers(names)) == ["transfer_to_cook", "transfer_to_subagent"]


def _tools(raw: bytes) -> str:
    """The list of tools in a request's body, letter for letter."""
    body = raw.decode()
    begin = body.index('"tools":') + len('"tools":')
    begin += len(body[begin:]) - len(body[begin:].lstrip())
    _, end = json.JSONDecoder().raw_decode(body, begin)
    return body[begin:end]


MORE = """
from astrbot.api import FunctionTool
from astrbot.api.star import Star

class Boil(FunctionTool):
    async def call(self, context, **arguments):
        return "boiled"

class Plugin(Star):
    async def initialize(self):
        parameters = {"type": "object", "properties": {}}
        self.context.add_llm_tools(Boil(name="boil", description="Boil.", parameters=parameters))
"""
