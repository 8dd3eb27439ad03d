"""Load, reload, disable, uninstall: work goes on over a reload, and nothing is left behind."""

import asyncio
import sqlite3
from collections.abc import Set as AbstractSet
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.plugin_events import plugin_events
from support.replies import after, call, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig here."})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})


async def test_nothing_is_left_of_a_plugin_that_worked_and_was_uninstalled(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.uninstall(PLUGIN_NAME)
    before = bot.registered()
    try:
        await bot.plugins.install()
        await _work(bot, model)
        await bot.plugins.reload()
        await _work(bot, model)
        await bot.plugins.disable()
        disabled = await _left(bot, before, expected={"plugins", "handlers", "modules"})
        await bot.plugins.enable()
        await _work(bot, model)
        await bot.plugins.uninstall(PLUGIN_NAME)
        uninstalled = await _left(bot, before)
    finally:
        await bot.plugins.install()

    assert uninstalled == {}
    # AstrBot keeps the handlers and modules of a disabled plugin, and calls them no more.
    assert disabled.keys() == {"plugins", "handlers", "modules"}


async def test_a_disabled_plugin_adds_nothing_to_a_turn(bot: Bot, model: Script) -> None:
    model.main(say("hello"))
    await bot.plugins.disable()

    await bot.say("hello")
    await bot.plugins.enable()

    assert [x for x in model.requests_of("main")[0].tool_names() if "subagent" in x] == []


async def test_work_goes_on_over_a_reload(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It goes on."), say("There it is."))
    model.child("digger", after(gate, say("too early")), then=say("dug after all"))

    running = bot.post("dig")
    await model.reached("digger")
    await bot.plugins.reload()
    with plugin_events(bot) as events:
        turn = await running.done()
        await events.run_over()
        (mail,) = await bot.mail()
    gate.set()

    requests = model.requests_of("main")
    assert turn.answer == "It goes on."
    assert mail.text == "There it is."
    assert "being reloaded" in tool_results(requests[2])[-1]
    assert "dug after all" in requests[3].last_user_text()
    assert bot.errors == []


async def test_tools_of_a_turn_that_was_reloaded_under_say_so(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), after(gate, call("list_subagents")), say("Then not."))

    running = bot.post("list them")
    await model.reached("main", 2)
    await bot.plugins.reload()
    gate.set()
    turn = await running.done()

    assert turn.answer == "Then not."
    assert "reloaded" in tool_results(model.requests_of("main")[2])[-1]


async def test_agents_and_memory_outlive_a_reload(bot: Bot, model: Script) -> None:
    model.main(call(*MAKE), call("protect_subagent", {"name": "digger"}), call(*DIG), say("dug"))
    model.child("digger", say("a hole"), say("a deeper hole"))
    await bot.say("dig")

    await bot.plugins.reload()
    model.main(call(*DIG), say("deeper"))
    await bot.say("deeper")

    remembered = [str(each.get("content")) for each in model.requests_of("digger")[1].messages]
    assert any("a hole" in each for each in remembered)


async def test_a_wrong_configuration_is_told_once_and_the_rest_works(
    bot: Bot, model: Script, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"max_steps": "many", "dynamic_agents": {"max_dynamic_subagent_count": 0}}
    model.main(call(*MAKE), say("none allowed"))

    with caplog.at_level("WARNING"):
        await bot.plugins.reload(config=config)
        await bot.say("make one")
    await bot.plugins.reload(config={})

    told = [each for each in caplog.messages if "`max_steps`" in each]
    assert len(told) == 1
    assert "a whole number of at least 1" in told[0]
    assert "limit of 0" in tool_results(model.requests_of("main")[1])[0]


async def test_a_model_that_is_not_there_is_told(
    bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING"):
        await bot.plugins.reload(config={"dynamic_agents": {"default_provider_id": "nowhere"}})
    await bot.plugins.reload(config={})

    (told,) = [each for each in caplog.messages if "default_provider_id" in each]
    assert "known: scripted" in told


async def test_a_store_in_use_switches_the_plugin_off_with_one_clear_line(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.disable()
    (lock,) = _data(bot).glob("*.lock")

    with FileLock(lock):
        await bot.plugins.enable()
        line = await _the_line_that_says_it_is_off(bot, model)
    await bot.plugins.reload()

    assert "Another process uses the store" in line
    assert await _is_on(bot, model)


async def test_a_store_of_a_later_version_is_left_alone(bot: Bot, model: Script) -> None:
    await bot.plugins.disable()
    (file,) = _data(bot).glob("*.sqlite3")

    version = _swap_version(file, "of_the_future")
    await bot.plugins.enable()
    line = await _the_line_that_says_it_is_off(bot, model)
    found = _swap_version(file, version)
    await bot.plugins.reload()

    assert "update the plugin" in line
    assert found == "of_the_future"
    assert await _is_on(bot, model)


async def test_a_wrong_address_of_the_store_is_told_without_its_secret(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.reload(config={"database_url": "mysql://bot:hunter2@example.org/db"})
    line = await _the_line_that_says_it_is_off(bot, model)
    await bot.plugins.reload(config={})

    assert "correct `database_url`" in line
    assert "hunter2" not in line
    assert await _is_on(bot, model)


async def test_astrbot_shows_the_configuration_in_three_languages(bot: Bot) -> None:
    star = bot.context.get_registered_star(PLUGIN_NAME)

    assert sorted(star.i18n) == ["en-US", "ru-RU", "zh-CN"]
    assert list(star.config.schema) == list(star.i18n["ru-RU"]["config"])


async def _left(
    bot: Bot, before: Any, *, expected: AbstractSet[str] = frozenset()
) -> dict[str, list[str]]:
    """Return what there is more than before, once AstrBot's own short tasks are done."""
    left: dict[str, list[str]] = {}
    for _ in range(100):
        grown = bot.registered().since(before)
        # The scripted model's server has a task for each connection that AstrBot keeps open.
        kept = {
            name: [x for x in there if "aiohttp/web_" not in x] for name, there in grown.items()
        }
        left = {name: there for name, there in kept.items() if there}
        if left.keys() <= expected:
            break
        await asyncio.sleep(0.05)
    return left


async def _work(bot: Bot, model: Script) -> None:
    model.main(call(*MAKE), call(*DIG), call(*DIG_BEHIND))
    model.main(call("wait_for_subagent", {"subagent_name": "digger"}), say("dug"))
    model.child("digger", say("a hole"), say("a second hole"))
    with plugin_events(bot) as events:
        turn = await bot.say("dig")
        await events.runs_over(2)
    assert turn.answer == "dug"


async def _the_line_that_says_it_is_off(bot: Bot, model: Script) -> str:
    """Make sure that the plugin is off, that the chat goes on, and that one line tells it."""
    assert not await _is_on(bot, model)
    (line,) = bot.errors
    assert line.startswith("The sub-agents are off: ")
    assert "reload the plugin" in line
    assert "Traceback" not in line
    bot.errors.clear()
    return line


async def _is_on(bot: Bot, model: Script) -> bool:
    model.main(say("hello"))
    turn = await bot.say("hello")
    assert turn.answer == "hello"
    return "create_subagent" in model.requests_of("main")[-1].tool_names()


def _data(bot: Bot) -> Path:
    return bot.root.data / "plugin_data" / PLUGIN_NAME


def _swap_version(file: Path, version: str) -> str:
    """Write another schema version into a store that nobody uses, and return the old one."""
    with closing(sqlite3.connect(file)) as store, store:
        ((old,),) = store.execute("SELECT version_num FROM subagents_version").fetchall()
        store.execute("UPDATE subagents_version SET version_num = ?", (version,))
    return str(old)
