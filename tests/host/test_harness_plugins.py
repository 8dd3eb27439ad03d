"""The harness itself: plugins come and go in the running AstrBot, and what they leave is seen."""

from typing import Any

import pytest

from support import sample_plugins
from support.astrbot_host import Bot
from support.astrbot_plugins import PluginDidNotLoad

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_traces_show_what_a_plugin_adds_and_that_it_went(bot: Bot) -> None:
    before = bot.registered()

    await bot.plugins.add("test_weather", sample_plugins.WEATHER)
    added = bot.registered().since(before)
    await bot.plugins.uninstall("test_weather")

    assert added["tools"] == ["get_weather"]
    assert added["plugins"] == ["test_weather"]
    assert "data.plugins.test_weather.main" in added["modules"]
    assert bot.registered().since(before) == {}


async def test_a_reload_makes_a_new_star(bot: Bot, weather: Any) -> None:
    await bot.plugins.reload("test_weather")

    assert bot.plugins.star("test_weather") is not weather


async def test_a_disabled_plugin_is_not_found_until_it_is_enabled(bot: Bot, weather: Any) -> None:
    await bot.plugins.disable("test_weather")
    with pytest.raises(LookupError):
        bot.plugins.star("test_weather")

    await bot.plugins.enable("test_weather")

    assert bot.plugins.star("test_weather").asked == []


async def test_our_plugin_is_loaded(bot: Bot) -> None:
    assert bot.plugins.ours is not None


async def test_what_a_plugin_leaves_behind_is_named(bot: Bot) -> None:
    before = bot.registered()
    star = await bot.plugins.add("test_leaky", sample_plugins.LEAKY)
    await bot.plugins.uninstall("test_leaky")

    left = bot.registered().since(before)
    star.tidy()

    assert left["web_apis"] == ["GET /leaky/state"]
    assert left["threads"] == ["leaky"]
    (task,) = left["tasks"]
    assert task.startswith("Leaky.hang in ")
    assert not {"plugins", "handlers", "tools", "modules"} & left.keys()


async def test_an_open_file_of_a_plugin_is_named(bot: Bot) -> None:
    before = bot.registered()
    star = await bot.plugins.add("test_leaky", sample_plugins.LEAKY)

    here = bot.registered().since(before)
    star.tidy()
    await bot.plugins.uninstall("test_leaky")

    assert here["open_files"] == ["plugins/test_leaky/open.txt"]


async def test_a_plugin_that_cannot_be_loaded_is_told_with_its_traceback(bot: Bot) -> None:
    with pytest.raises(PluginDidNotLoad, match="no_such_name"):
        await bot.plugins.add("test_broken", "no_such_name")

    await bot.plugins.forget_failed("test_broken")
