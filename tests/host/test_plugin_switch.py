"""A plugin that is off for a chat in one of three ways: no tools, no new runs, no live ones."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.plugin_events import plugin_events
from support.replies import after, call, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
MAKE_WITH_TOOL = (MAKE[0], {**MAKE[1], "tools": ["get_weather"]})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})

type Off = Callable[[Bot], Awaitable[None]]


async def in_profile(bot: Bot) -> None:
    """Leave the plugin out of the bot's profile."""
    await bot.configure(extra={"plugin_set": ["some_other_plugin"]})


async def in_chat(bot: Bot) -> None:
    """Switch the plugin off for the test's chat, as AstrBot's WebUI does."""
    switches = importlib.import_module("astrbot.core").sp
    value = {bot.umo(): {"enabled_plugins": [], "disabled_plugins": [PLUGIN_NAME]}}
    await switches.put_async("umo", bot.umo(), "session_plugin_config", value)


@pytest.mark.parametrize("off", [in_profile, in_chat])
async def test_a_chat_without_the_plugin_has_neither_tools_nor_prompt(
    bot: Bot, model: Script, off: Off
) -> None:
    await off(bot)
    model.main(say("hello"))

    turn = await bot.say("hello")

    (request,) = model.requests_of("main")
    assert turn.answer == "hello"
    assert [name for name in request.tool_names() if "subagent" in name] == []
    assert "# Sub-agents" not in request.system_text()
    assert bot.errors == []


async def test_other_chats_keep_it(bot: Bot, model: Script) -> None:
    await in_chat(bot)
    model.main(say("hello"))

    await bot.say("hello", session="another_chat")

    assert "create_subagent" in model.requests_of("main")[0].tool_names()


@pytest.mark.parametrize("off", [in_profile, in_chat])
async def test_live_runs_end_at_one_of_their_next_steps(
    bot: Bot, model: Script, weather: Any, off: Off
) -> None:
    model.main(call(*MAKE_WITH_TOOL), call(*DIG_BEHIND), say("It digs."))
    # A chat's own switch is read once in a second at most.
    step = replace(call("get_weather", {"city": "Oslo"}), delay_seconds=0.15)
    model.child("digger", then=step)
    await bot.say("dig")
    await model.reached("digger")

    with plugin_events(bot) as events:
        await off(bot)
        ended = await events.run_over()

    assert ended.state == "cancelled"
    assert "switched off for this chat" in ended.failure.message


async def test_live_runs_end_with_the_next_message(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG_BEHIND), say("It digs."), say("hello"))
    model.child("digger", after(gate, say("dug")))
    await bot.say("dig")
    await model.reached("digger")

    with plugin_events(bot) as events:
        await in_chat(bot)
        await bot.say("hello")
        ended = await events.run_over()
        gate.set()

    assert ended.state == "cancelled"
    assert "switched off for this chat" in ended.failure.message


async def test_nothing_starts_in_a_turn_in_which_it_is_switched_off(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), after(gate, call(*DIG_BEHIND)), say("So be it."))

    running = bot.post("dig")
    await model.reached("main", 2)
    await in_chat(bot)
    gate.set()
    turn = await running.done()

    assert turn.answer == "So be it."
    assert "switched off for this chat" in tool_results(model.requests_of("main")[2])[-1]


async def test_the_master_switch_ends_what_runs_and_takes_everything_away(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG_BEHIND), say("It digs."), say("hello"))
    model.child("digger", after(gate, say("dug")), then=say("dug"))
    await bot.say("dig")
    await model.reached("digger")

    async with plugin_config(bot, {"enabled": False}):
        gate.set()
        await bot.say("hello")
        (mail,) = await bot.mail()
    model.main(then=say("fine"))
    await bot.say("and now?")

    off, on = model.requests_of("main")[3:]
    assert "create_subagent" not in off.tool_names()
    assert "create_subagent" in on.tool_names()
    assert mail.text.startswith("digger: stopped.")
    assert "cancelled" not in on.last_user_text()


@asynccontextmanager
async def plugin_config(bot: Bot, config: dict[str, object]) -> AsyncIterator[None]:
    """Run the plugin with another configuration for a while."""
    await bot.plugins.reload(config=config)
    try:
        yield
    finally:
        await bot.plugins.reload(config={})
