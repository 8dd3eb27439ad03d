"""What tests of `/subagents` share: a digger that has dug or digs, and a command with its answer.

A test module takes the fixture by naming it: `relayed = chat_commands.relayed`.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest_asyncio

from .astrbot_host import Bot
from .plugin_events import plugin_events
from .replies import after, call, say
from .script import Script, tool_results

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig the well.", "background_task": True})
VERBS = "list, show, log, stop, steer, answer, retry, remove, memory, board, help"
RELAY: dict[str, Any] = {"delivery": {"mode": "relay"}}


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def relayed(astrbot: Bot) -> AsyncIterator[None]:
    """Send results as they are: no model is to be asked for what these tests do."""
    await astrbot.plugins.reload(config=RELAY)
    yield
    await astrbot.plugins.reload(config={})


@asynccontextmanager
async def configured(bot: Bot, **config: Any) -> AsyncIterator[None]:
    """Run the plugin with further settings for as long as the block lasts."""
    await bot.plugins.reload(config={**RELAY, **config})
    try:
        yield
    finally:
        await bot.plugins.reload(config=RELAY)


async def dug(bot: Bot, model: Script, **how: Any) -> str:
    """Let a kept digger do its first task, and return the id of that."""
    model.main(
        call(*MAKE),
        call("protect_subagent", {"name": "digger"}),
        call("transfer_to_digger", {"input": "Dig the well."}),
        say("It is dug."),
    )
    model.child("digger", say("The well is 7 m deep."))
    with plugin_events(bot) as events:
        await bot.say("please dig a well", **how)
        run = await events.run_over()
    return str(run.run_id)


@asynccontextmanager
async def digging(bot: Bot, model: Script, **how: Any) -> AsyncIterator[str]:
    """Have a digger at work while the block lasts; the id of its task."""
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."))
    model.child("digger", after(gate, say("The well is 7 m deep.")))
    with plugin_events(bot) as events:
        await bot.say("please dig a well", **how)
        await model.reached("digger")
        try:
            yield told_id(model)
        finally:
            gate.set()
            await events.run_over()


def told_id(model: Script) -> str:
    """The id of the task of which the main agent was told last."""
    found = re.search(r"task_id: (\S+)", tool_results(model.requests_of("main")[-1])[-1])
    assert found is not None
    return found[1]


async def asked(bot: Bot, text: str, **how: Any) -> str:
    """Write a command; the answer is one message, and nothing went wrong."""
    turn = await bot.say(text, **how)
    assert bot.errors == []
    (answer,) = turn.answers
    return answer
