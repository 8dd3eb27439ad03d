"""AstrBot's /reset, and turns that end while their sub-agents may go on."""

import asyncio
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, calls, never, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

GROUP = "g_reset"
RESULT = "The hole is 7 m deep."
NOTE = ("send_shared_context_for_main_agent", {"context_type": "message", "content": "Dig deep!"})


def make(name: str) -> tuple[str, dict[str, Any]]:
    return "create_subagent", {"name": name, "system_prompt": f"You are the {name}."}


def give(name: str, *, behind: bool = False) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Go on.", "background_task": behind}


def keep(name: str) -> tuple[str, dict[str, Any]]:
    return "protect_subagent", {"name": name}


async def test_reset_forgets_agents_memory_board_and_results_and_says_so(
    bot: Bot, model: Script
) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    model.main(calls(make("digger"), make("keeper"), keep("keeper"), NOTE))
    model.main(call(*give("keeper")), call(*give("digger", behind=True)), say("It digs."))
    model.main(
        after(answer, say("It is")),
        call("view_shared_context"),
        call(*give("keeper")),
        say("All is new."),
    )
    model.child("keeper", say("I keep the key."), say("Which key?"))
    model.child("digger", after(gate, say(RESULT)))

    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        running = bot.post("and then?")
        await model.reached("main", 5)
        gate.set()
        await events.runs_over(2)
        await bot.say("/reset")
        # until now AstrBot 4.26 waits for the model
        answer.set()
        await running.done()
        await events.turns_over(2)
        (mail,) = await bot.mail()
        await bot.say("hello")

    assert mail.text == (
        "Sub-agents: stopped tasks: 0, removed agents: 1.\n"
        "Cleared memories: 1, notes: 1, waiting results: 1."
    )
    first, _, last = model.requests_of("main")[5:]
    assert RESULT not in str(first.messages)
    assert "transfer_to_digger" not in first.tool_names()
    assert "transfer_to_keeper" in first.tool_names()
    assert "Dig deep!" not in "".join(tool_results(last))
    assert "I keep the key." not in str(model.requests_of("keeper")[-1].messages)


async def test_reset_stops_work_and_nobody_is_woken_for_it(bot: Bot, model: Script) -> None:
    model.main(call(*make("digger")), call(*give("digger", behind=True)), say("It digs."))
    model.main(say("Hello."))
    model.child("digger", never())

    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        await model.reached("digger")
        await bot.say("/reset")
        run = await events.run_over()
        (mail,) = await bot.mail()
        await bot.say("hello")

    assert run.state == "cancelled"
    assert "stopped tasks: 1, removed agents: 1." in mail.text
    assert run.run_id not in model.requests_of("main")[-1].last_user_text()


async def test_a_reset_during_a_wake_up_closes_the_results_that_it_brings(
    bot: Bot, model: Script
) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger", behind=True)), say("It digs."))
    model.main(after(answer, say("It is")), say("Hello."))
    model.child("digger", after(gate, say(RESULT)))

    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        gate.set()
        await model.reached("main", 4)
        await bot.say("/reset")
        answer.set()
        (mail,) = await bot.mail()
        await events.turns_over(2)
        await bot.say("hello")

    assert "waiting results: 1." in mail.text
    assert RESULT not in str(model.requests_of("main")[-1].messages)
    assert len(model.requests_of("main")) == 5


async def test_a_reset_that_astrbot_refuses_leaves_everything(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger", behind=True)), say("It digs."))
    model.main(say("It is dug."))
    model.child("digger", after(gate, say(RESULT)))

    await bot.say("dig a hole", group=GROUP, sender="alice")
    await model.reached("digger")
    await bot.say("/reset", group=GROUP, sender="bob")
    gate.set()
    (mail,) = await bot.mail(group=GROUP)

    assert mail.text == "It is dug."


@pytest.mark.parametrize("mode", ["keep", "cancel"])
async def test_what_becomes_of_the_sub_agents_of_a_turn_that_is_cut_off_is_configured(
    bot: Bot, model: Script, mode: str
) -> None:
    blocker = await bot.plugins.add("test_breaker", BREAKER)
    gate = asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger")), say("It was dug after all."))
    model.child("digger", after(gate, say(RESULT)))

    async with plugin_config(bot, on_turn_interrupted=mode):
        with plugin_events(bot) as events:
            running = bot.post("dig a hole")
            await model.reached("digger")
            blocker.cut_off(running.event)
            await running.done()
            await events.turns_over(1)
            gate.set()
            run = await events.run_over()
            texts = [each.text for each in await bot.mail()] if mode == "keep" else []
    await bot.plugins.uninstall("test_breaker")

    assert run.state == ("completed" if mode == "keep" else "cancelled")
    assert texts == (["It was dug after all."] if mode == "keep" else [])


BREAKER = """
from astrbot.api.star import Star
from astrbot.core.utils.active_event_registry import active_event_registry

class Breaker(Star):
    def cut_off(self, event):
        active_event_registry.request_agent_stop_all(event.unified_msg_origin)
"""
"""Stops answers as the button in AstrBot's WebUI does, without any message."""
