"""What other plugins add to the settings: a tool for all sub-agents, a tool for none."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.replies import call, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

DOCS = Path(__file__).parents[2] / "docs" / "for-plugins.md"


def example() -> str:
    """The plugin in the documentation, for the tool of the tests' weather plugin."""
    found = re.search(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert found
    return found[1].replace("my_tool", "get_weather")


def plan(model: Script, *tools: str) -> None:
    """Plan a turn that makes a sub-agent with these tools and gives it work."""
    wanted = {"name": "poet", "system_prompt": "Write.", "tools": list(tools)}
    model.main(
        call("create_subagent", wanted), call("transfer_to_poet", {"input": "x"}), say("done")
    )


async def test_an_inherent_tool_of_another_plugin_is_given_until_it_is_taken_back(
    bot: Bot, model: Script, weather: Any
) -> None:
    take_back = bot.plugins.ours.add_inherent_tool("get_weather")
    plan(model)
    model.child("poet", say("one"), say("two"))
    await bot.say("write")
    take_back()
    plan(model)
    await bot.say("write")

    with_it, without = model.requests_of("poet")
    assert "get_weather" in with_it.tool_names()
    assert "get_weather" not in without.tool_names()


async def test_the_plugin_in_the_documentation_keeps_its_tool_to_itself_over_reloads(
    bot: Bot, model: Script, weather: Any
) -> None:
    refusals = []
    await bot.plugins.add("test_keeper", example())
    for reload in ("astrbot_plugin_subagents", "test_keeper", None):
        plan(model, "get_weather")
        await bot.say("write")
        refusals.append(tool_results(model.requests_of("main")[-2])[-1])
        if reload:
            await bot.plugins.reload(reload)
    await bot.plugins.uninstall("test_keeper")
    plan(model, "get_weather")
    model.child("poet", say("Sunny."))
    await bot.say("write")

    assert ["names tools that no sub-agent gets: get_weather" in each for each in refusals] == [
        True,
        True,
        True,
    ]
    assert "get_weather" in model.requests_of("poet")[-1].tool_names()
    assert bot.errors == []


@pytest.mark.parametrize("name", ["", None, 7])
async def test_what_is_no_name_is_refused(bot: Bot, name: Any) -> None:
    with pytest.raises(ValueError, match="the name of a tool is needed"):
        bot.plugins.ours.add_blacklisted_tool(name)
