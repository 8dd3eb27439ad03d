"""The live tool set by itself, in both of AstrBot's reduced forms."""

import importlib
from typing import Any

import pytest

from support.astrbot_host import Bot

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_copies_follow_what_is_added_and_removed(bot: Bot) -> None:
    tools = _live_set(_tool("theirs"))
    light, params = tools.get_light_tool_set(), tools.get_param_only_tool_set()

    assert tools.put(_tool("ours"))
    assert _names(tools, light, params) == [["theirs", "ours"]] * 3
    assert light.get_tool("ours").parameters["properties"] == {}
    assert light.get_tool("ours").description == "about ours"
    assert params.get_tool("ours").parameters["properties"] == {"x": {"type": "string"}}
    assert params.get_tool("ours").description == ""

    tools.drop("ours")
    assert _names(tools, light, params) == [["theirs"]] * 3


async def test_a_new_version_takes_the_place_of_the_old_one(bot: Bot) -> None:
    tools = _live_set()
    light = tools.get_light_tool_set()
    tools.put(_tool("ours"))

    assert tools.put(_tool("ours", about="new"))

    assert [each.description for each in (*tools, *light)] == ["new", "new"]


async def test_another_tool_is_neither_replaced_nor_dropped(bot: Bot) -> None:
    theirs = _tool("transfer_to_poet", about="theirs")
    tools = _live_set(theirs)

    assert not tools.put(_tool("transfer_to_poet", about="ours"))
    tools.drop("transfer_to_poet")

    assert tools.tools == [theirs]


async def test_a_tool_that_another_plugin_put_over_ours_is_not_dropped(bot: Bot) -> None:
    tools = _live_set()
    tools.put(_tool("ours"))
    theirs = _tool("ours", about="theirs")
    tools.add_tool(theirs)

    tools.drop("ours")

    assert tools.tools == [theirs]


async def test_a_tool_that_is_switched_off_is_in_no_copy(bot: Bot) -> None:
    tools = _live_set()
    light = tools.get_light_tool_set()
    tools.put(_tool("ours"))
    sleeping = _tool("ours")
    sleeping.active = False
    tools.remove_tool("ours")

    tools.put(sleeping)

    assert _names(tools, light) == [["ours"], []]


def _live_set(*tools: Any) -> Any:
    module = importlib.import_module("data.plugins.astrbot_plugin_subagents.plugin.toolset")
    return module.LiveToolSet(tools)


def _tool(name: str, *, about: str = "") -> Any:
    parameters = {"type": "object", "properties": {"x": {"type": "string"}}}
    tool_class = importlib.import_module("astrbot.api").FunctionTool
    return tool_class(name=name, description=about or f"about {name}", parameters=parameters)


def _names(*tool_sets: Any) -> list[list[str]]:
    return [tool_set.names() for tool_set in tool_sets]
