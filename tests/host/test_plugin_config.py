"""The configuration as AstrBot's own page makes it: checked, saved, and read back by the plugin."""

import importlib
import json
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.host_agents import plugin_config
from support.replies import call, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

ENTRY = {"__template_key": "agent", "name": "poet", "system_prompt": "Write verse."}


def page(bot: Bot) -> Any:
    """The plugin's configuration as AstrBot holds it, with its schema."""
    return bot.context.get_registered_star(PLUGIN_NAME).config


async def test_astrbot_takes_the_schema_and_writes_its_defaults(bot: Bot) -> None:
    config = page(bot)

    assert config["static_agents"] == []
    assert config["dynamic_agents"]["handoff"] == "per_agent"
    assert config["shared_context_maxlen"] == 300
    # else AstrBot would make a password for the group at each load, and hash it
    assert set(config["dashboard"]) == {"enabled", "host", "port", "token", "password"}


async def test_astrbots_check_passes_what_its_page_sends_and_the_plugin_reads_it(
    bot: Bot, model: Script
) -> None:
    service = importlib.import_module("astrbot.dashboard.services.config_service")
    items = page(bot).schema["static_agents"]["templates"]["agent"]["items"]
    entry = {**{key: item["default"] for key, item in items.items()}, **ENTRY}
    sent = {**json.loads(json.dumps(dict(page(bot)))), "static_agents": [entry]}
    model.main(call("list_subagents"), say("done"))

    errors, checked = service.validate_config(sent, page(bot).schema, is_core=False)
    async with plugin_config(bot, **checked):
        saved = page(bot)["static_agents"]
        await bot.say("who is there?")

    (listed,) = tool_results(model.requests_of("main")[1])
    assert errors == []
    assert saved == [entry]
    assert "poet (static, protected)" in listed
    assert "skills: all" in listed


async def test_astrbots_page_refuses_an_entry_of_no_template(bot: Bot) -> None:
    service = importlib.import_module("astrbot.dashboard.services.config_service")

    errors, _ = service.validate_config(
        {"static_agents": [{"name": "x"}]}, page(bot).schema, is_core=False
    )

    assert len(errors) == 1
