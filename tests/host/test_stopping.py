"""AstrBot's /stop: it ends the work of whoever sends it at once, and nobody is woken after it."""

import asyncio
from typing import Any

import pytest

from standin.protocol import message_text
from support.astrbot_host import Bot
from support.astrbot_root import ADMIN
from support.plugin_events import plugin_events
from support.replies import after, call, never, say
from support.sample_plugins import SLOW
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

GROUP = "g_stopping"
RESULT = "The hole is 7 m deep."


FIRST_PAUSE_SECONDS = 5.0
"""After this time a wake-up that came to nothing is tried again."""


async def nothing_is_asked(model: Script, *, beyond: int, seconds: float) -> None:
    """Make sure that the main model is not asked once more in that time."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await model.reached("main", beyond + 1)


def make(name: str, *tools: str) -> tuple[str, dict[str, Any]]:
    arguments = {"name": name, "system_prompt": f"You are the {name}.", "tools": list(tools)}
    return "create_subagent", arguments


def give(name: str, *, behind: bool) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Go on.", "background_task": behind}


@pytest.mark.parametrize("in_a_tool", [True, False])
@pytest.mark.parametrize("behind", [True, False])
async def test_stop_ends_work_at_once_and_what_it_had_comes_with_the_next_turn(
    bot: Bot, model: Script, behind: bool, in_a_tool: bool
) -> None:
    await bot.plugins.add("test_slow", SLOW)
    tool = "get_slowly" if in_a_tool else "no_such_tool"
    model.main(call(*make("digger", "get_slowly")), call(*give("digger", behind=behind)))
    model.main(*[say("It digs.")] * behind, then=say("So it was stopped."))
    model.child("digger", call(tool, {"city": "Oslo"}, text="I have found a spade."), never())
    loop = asyncio.get_running_loop()

    with plugin_events(bot) as events:
        running = bot.post("dig a hole")
        if behind:
            await running.done()
        await events.first(lambda each: getattr(each, "name", "") == tool)
        if not in_a_tool:
            await model.reached("digger", 2)
        began = loop.time()
        await bot.say("/stop")
        run = await events.run_over()
        seconds = loop.time() - began
        await running.done()
        await events.turns_over(1)
        await nothing_is_asked(model, beyond=len(model.requests_of("main")), seconds=0.3)
        await bot.say("what came of it?")
    await bot.plugins.uninstall("test_slow")

    assert run.state == "cancelled"
    assert seconds < 0.5
    assert [each.text for each in await bot.mail()] == ["Stopped tasks: 1."]
    assert "I have found a spade." in str(model.requests_of("main")[-1].messages)


async def test_a_member_stops_their_own_work_and_an_admin_all_of_it(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    with plugin_events(bot) as events:
        for sender, name in (("alice", "digger"), ("bob", "writer"), ("carol", "poet")):
            model.main(call(*make(name)), call(*give(name, behind=True)), say("At work."))
            model.child(name, after(gate, say("never said")))
            await bot.say("go", group=GROUP, sender=sender)
            await model.reached(name)
        await bot.say("/stop", group=GROUP, sender="bob")
        (bobs,) = await events.runs_over(1)
        await bot.say("/stop", group=GROUP, sender=ADMIN)
        ended = await events.runs_over(3)
        await events.turns_over(3, group=GROUP)
    gate.set()

    assert (bobs.owner, bobs.state) == ("bob", "cancelled")
    assert {(run.owner, run.state) for run in ended[1:]} == {
        ("alice", "cancelled"),
        ("carol", "cancelled"),
    }
    told = [each.text for each in await bot.mail(2, group=GROUP)]
    assert told == ["Stopped tasks: 1.", "Stopped tasks: 2."]
    assert len(model.requests_of("main")) == 9


async def test_a_wake_up_that_is_stopped_does_not_come_again_but_with_the_next_message(
    bot: Bot, model: Script
) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger", behind=True)), say("It digs."))
    model.main(after(answer, say("It is")), say("Seven metres."))
    model.child("digger", after(gate, say(RESULT)))

    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        gate.set()
        await model.reached("main", 4)
        await bot.say("/stop")
        # until now AstrBot 4.26 waits for the model
        answer.set()
        await events.turns_over(2)
        await nothing_is_asked(model, beyond=4, seconds=FIRST_PAUSE_SECONDS + 0.5)
        turn = await bot.say("how deep?")

    assert turn.answer == "Seven metres."
    assert RESULT in model.requests_of("main")[-1].last_user_text()


async def test_a_stopped_turn_is_not_followed_by_a_wake_up_with_what_it_was_told(
    bot: Bot, model: Script
) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger", behind=True)), say("It digs."))
    model.main(after(answer, say("It is")), say("Seven metres."))
    model.child("digger", after(gate, say(RESULT)))

    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        running = bot.post("and now?")
        await model.reached("main", 4)
        gate.set()
        await events.run_over()
        await bot.say("/stop")
        answer.set()
        await running.done()
        await events.turns_over(2)
        await nothing_is_asked(model, beyond=4, seconds=0.5)
        await bot.say("how deep?")

    assert RESULT in model.requests_of("main")[-1].last_user_text()


async def test_a_stop_of_another_member_only_holds_a_wake_up_up(bot: Bot, model: Script) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger", behind=True)), say("It digs."))
    model.main(after(answer, say("It is")), say("Seven metres."))
    model.child("digger", after(gate, say(RESULT)))

    with plugin_events(bot) as events:
        await bot.say("dig a hole", group=f"{GROUP}_2", sender="alice")
        gate.set()
        await model.reached("main", 4)
        # AstrBot lets anybody stop every answer in a group
        await bot.say("/stop", group=f"{GROUP}_2", sender="bob")
        answer.set()
        await events.turns_over(3, group=f"{GROUP}_2")

    requests = model.requests_of("main")[3:]
    assert [RESULT in each.last_user_text() for each in requests] == [True, True]
    assert (await bot.mail(group=f"{GROUP}_2"))[-1].text == "Seven metres."


async def test_new_ends_the_turn_and_its_sub_agents_go_on_and_are_delivered(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*make("digger")), call("protect_subagent", {"name": "digger"}))
    model.main(call(*give("digger", behind=False)), say("It was dug after all."), say("Hello."))
    model.child("digger", after(gate, say(RESULT)))

    with plugin_events(bot) as events:
        running = bot.post("dig a hole")
        await model.reached("digger")
        await bot.say("/new")
        await running.done()
        gate.set()
        run = await events.run_over()
        await events.turns_over(2)
        await bot.say("hello")

    assert run.state == "completed"
    assert [each.text for each in await bot.mail()] == ["It was dug after all."]
    assert RESULT in model.requests_of("main")[3].last_user_text()
    assert "transfer_to_digger" in model.requests_of("main")[4].tool_names()
    history = "".join([message_text(each) for each in await bot.history()])
    assert "It was dug after all." in history
    assert "dig a hole" not in history
