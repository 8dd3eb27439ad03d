"""Messages on the progress of tasks: few, and only for those who want them."""

import asyncio
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, calls, fail, say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


def make(name: str) -> tuple[str, dict[str, Any]]:
    arguments = {"name": name, "system_prompt": f"You are the {name}.", "tools": ["get_weather"]}
    return "create_subagent", arguments


def give(name: str) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Go on.", "background_task": True}


async def play(
    bot: Bot, model: Script, names: list[str], *, before: int = 0, until: int
) -> list[str]:
    """Let sub-agents look at the weather, the poet fail, and the others go on once they may.

    Args:
        bot: The bot.
        model: Its model.
        names: The sub-agents.
        before: Messages that must have come before they may go on.
        until: Messages that must have come in all.

    Returns:
        What the chat was sent beside the answer to the user's message.
    """
    gate = asyncio.Event()
    model.main(calls(*map(make, names)), calls(*map(give, names)), say("At work."))
    model.main(then=say("All is done."))
    for name in names:
        model.child(name, call("get_weather", {"city": "Oslo"}))
        model.child(name, fail(401) if name == "poet" else after(gate, say("It is sunny.")))
    with plugin_events(bot) as events:
        await bot.say("look out")
        for name in names:
            await model.reached(name, 2)
        await bot.mail(before)
        gate.set()
        await events.runs_over(len(names))
        await events.turns_over(2)
        await bot.mail(until)
    return [each.text for each in await bot.mail()]


async def test_nobody_is_told_of_progress_unless_it_is_wanted(
    bot: Bot, model: Script, weather: Any
) -> None:
    assert await play(bot, model, ["digger"], until=1) == ["All is done."]


async def test_in_brief_starts_trouble_and_ends_are_told_in_few_messages(
    bot: Bot, model: Script, weather: Any
) -> None:
    async with plugin_config(bot, progress_messages="brief"):
        texts = await play(bot, model, ["digger", "poet"], before=2, until=4)

    first, last = (each.splitlines() for each in texts if ": " in each)
    assert first[0] == "digger: started"
    assert first[1].startswith("poet: failed.")
    assert last == ["digger: done"]
    assert len(texts) == 4


async def test_with_steps_it_is_told_what_each_task_uses(
    bot: Bot, model: Script, weather: Any
) -> None:
    async with plugin_config(bot, progress_messages="steps"):
        texts = await play(bot, model, ["digger"], before=1, until=2)

    assert texts == ["digger: uses get_weather", "All is done."]
