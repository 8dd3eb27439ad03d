"""What users of such systems reported about tools of sub-agents, played on a real AstrBot."""

import importlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

SERVER = """
from mcp.server.fastmcp import FastMCP

server = FastMCP("almanac")

@server.tool()
def moon_phase(day: str) -> str:
    "Tell the phase of the moon."
    if day == "never":
        raise ValueError("no such day")
    return f"The moon is full on {day}."

server.run()
"""

WATCHER = """
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Watcher(Star):
    async def initialize(self):
        self.seen = []

    @filter.on_using_llm_tool()
    async def before(self, event: AstrMessageEvent, tool, arguments):
        self.seen.append(tool.name)
"""

WEB_SEARCH = {
    "web_search": True,
    "websearch_provider": "tavily",
    "websearch_tavily_key": ["test-key"],
}
OURS = ("create_subagent", "list_subagents", "transfer_to_scout", "wait_for_subagent")


def make(*tools: str, name: str = "scout", **more: Any) -> tuple[str, dict[str, Any]]:
    arguments = {"name": name, "system_prompt": "You look.", "tools": list(tools), **more}
    return "create_subagent", arguments


def give(name: str = "scout", task: str = "Look.") -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": task}


@pytest_asyncio.fixture(loop_scope="session")
async def almanac(bot: Bot, tmp_path: Path) -> AsyncIterator[None]:
    """An MCP server with the tool `moon_phase`, connected as AstrBot's WebUI does it."""
    script = tmp_path / "almanac.py"
    script.write_text(SERVER, encoding="utf-8")
    tools = bot.context.get_llm_tool_manager()
    await tools.enable_mcp_server("almanac", {"command": sys.executable, "args": [str(script)]})
    yield
    await tools.disable_mcp_server("almanac")


async def test_an_mcp_tool_is_there_for_the_child_that_was_given_it_and_for_no_other(
    bot: Bot, model: Script, almanac: None
) -> None:
    model.main(calls(make("moon_phase"), make(name="clerk")), calls(give(), give("clerk")))
    model.main(say("done"))
    model.child("scout", call("moon_phase", {"day": "Monday"}), say("full"))
    model.child("clerk", call("moon_phase", {"day": "Monday"}), say("I have no such tool."))

    with plugin_events(bot) as events:
        await bot.say("the moon?")
        scout, clerk = await events.runs_over(2)

    offered, asked = model.requests_of("scout")
    assert "moon_phase" in offered.tool_names()
    assert "The moon is full on Monday." in tool_results(asked)[-1]
    assert [(use.name, use.calls, use.errors) for use in scout.tools_used] == [("moon_phase", 1, 0)]
    assert "moon_phase" not in model.requests_of("clerk")[0].tool_names()
    assert "not found" in tool_results(model.requests_of("clerk")[1])[-1]
    assert [(use.calls, use.errors) for use in clerk.tools_used] == [(1, 1)]


async def test_a_failing_mcp_tool_is_an_error_and_the_same_failing_call_ends_the_run(
    bot: Bot, model: Script, almanac: None
) -> None:
    model.main(call(*make("moon_phase")), call(*give()), say("It cannot."))
    model.child("scout", then=call("moon_phase", {"day": "never"}))

    with plugin_events(bot) as events:
        await bot.say("the moon?")
        run = await events.run_over()

    assert (run.state, run.failure.code) == ("failed", "same_call_limit")
    assert [(use.calls, use.errors) for use in run.tools_used] == [(3, 3)]
    assert "moon_phase" in run.failure.message
    assert len(model.requests_of("scout")) == 3


async def test_all_tools_are_all_that_the_asker_may_use_and_none_of_ours(
    bot: Bot, model: Script, weather: Any, almanac: None
) -> None:
    await bot.configure(extra={"provider_settings": WEB_SEARCH})
    model.main(call(*make("*")), call(*give()), say("done"))
    model.child("scout", calls(*((name, {}) for name in OURS)), say("I have none of those."))

    async with plugin_config(bot, dynamic_agents={"tools_blacklist": []}):
        await bot.say("look")

    (main, *_), (child, refused) = model.requests_of("main"), model.requests_of("scout")
    for name in ("get_weather", "moon_phase", "web_search_tavily"):
        assert name in main.tool_names()
        assert name in child.tool_names()
    assert {*child.tool_names()} - {*main.tool_names()} == {
        "send_shared_context",
        "ask_question",
    }
    assert [name for name in OURS if name in child.tool_names()] == []
    assert ["not found" in each for each in tool_results(refused)] == [True] * len(OURS)


async def test_a_child_of_which_no_tools_were_said_has_none_of_the_askers(
    bot: Bot, model: Script, weather: Any
) -> None:
    arguments = {"name": "scout", "system_prompt": "You look."}
    model.main(call("create_subagent", arguments), call(*give()), say("done"))
    model.main(call("create_subagent", {**arguments, "tools": None}), call(*give()), say("done"))
    model.child("scout", call("get_weather", {"city": "Oslo"}), say("None."), say("None."))

    await bot.say("look")
    await bot.say("look")

    assert [{*request.tool_names()} for request in model.requests_of("scout")] == [
        {"send_shared_context", "ask_question"}
    ] * 3
    assert weather.asked == []


async def test_a_mangled_transfer_name_is_answered_with_the_names_there_are(
    bot: Bot, model: Script
) -> None:
    model.main(call(*make()), call("transfer_to_scuot", {"input": "Look."}), call(*give()))
    model.main(say("done"))
    model.child("scout", say("I looked."))

    turn = await bot.say("look")

    assert turn.answer == "done"
    assert "transfer_to_scout" in tool_results(model.requests_of("main")[2])[-1]


async def test_with_one_hand_off_a_mangled_name_gets_the_nearest(bot: Bot, model: Script) -> None:
    wrong = {"name": "scuot", "input": "Look."}
    model.main(call(*make()), call("transfer_to_subagent", wrong), say("I see."))

    async with plugin_config(bot, dynamic_agents={"handoff": "single"}):
        await bot.say("look")

    assert "Did you mean 'scout'?" in tool_results(model.requests_of("main")[2])[-1]


async def test_other_plugins_see_every_tool_call_of_main_agent_and_child_alike(
    bot: Bot, model: Script, weather: Any
) -> None:
    watcher = await bot.plugins.add("test_watcher", WATCHER)
    note = {"context_type": "status", "content": "looking"}
    model.main(call(*make("get_weather")), call(*give()), say("done"))
    model.child("scout", call("send_shared_context", note))
    model.child("scout", call("get_weather", {"city": "Oslo"}), say("Sunny."))

    await bot.say("look")
    seen = list(watcher.seen)
    await bot.plugins.uninstall("test_watcher")

    assert seen == ["create_subagent", "transfer_to_scout", "send_shared_context", "get_weather"]


async def test_a_missing_file_is_an_error_for_the_model_and_not_the_end(
    bot: Bot, model: Script
) -> None:
    await bot.configure(extra={"provider_settings": {"computer_use_runtime": "local"}})
    model.main(call(*make("astrbot_file_read_tool")), call(*give()), say("done"))
    model.child("scout", call("astrbot_file_read_tool", {"path": "nowhere.txt"}), say("No file."))

    with plugin_events(bot) as events:
        await bot.say("look")
        run = await events.run_over()

    assert (run.state, run.last_text) == ("completed", "No file.")
    assert "rror" in tool_results(model.requests_of("scout")[1])[-1]


async def test_an_agent_with_a_skill_is_told_of_it_and_can_read_it(bot: Bot, model: Script) -> None:
    skills = importlib.import_module("astrbot.core.skills.skill_manager")
    folder = Path(skills.SkillManager().skills_root) / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    text = "---\nname: tidy\ndescription: How to tidy up.\n---\nSweep the floor first.\n"
    folder.joinpath("SKILL.md").write_text(text, encoding="utf-8")
    await bot.configure(extra={"provider_settings": {"computer_use_runtime": "local"}})
    model.main(call(*make(skills=["tidy"])), call(*give()), say("done"))
    read = {"path": str(folder / "SKILL.md")}
    model.child("scout", call("astrbot_file_read_tool", read), say("Swept."))

    await bot.say("tidy up")

    told, asked = model.requests_of("scout")
    assert "How to tidy up." in told.system_text()
    assert "Sweep the floor first." in tool_results(asked)[-1]
