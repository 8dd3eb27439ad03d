"""What the platform does not take is not delivered: it comes again, and nothing else does."""

import asyncio

import pytest

from support.astrbot_host import Bot
from support.chat_trouble import refusing, switched_off
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script
from support.turn import Sent

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

RESULT = "The hole is 7 m deep."


def make(name: str) -> tuple[str, dict[str, object]]:
    """Make a sub-agent."""
    return "create_subagent", {"name": name, "system_prompt": "Dig."}


def dig(name: str) -> tuple[str, dict[str, object]]:
    """Give it work in the background."""
    return f"transfer_to_{name}", {"input": "Dig here.", "background_task": True}


def anything(_: Sent) -> bool:
    """Whether a message is one."""
    return True


async def test_an_answer_that_the_platform_does_not_take_is_given_again(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*make("digger")), call(*dig("digger")), say("It digs."))
    model.child("digger", after(gate, say(RESULT)))
    with plugin_events(bot) as events, refusing(bot, anything, times=1) as refused:
        await bot.say("dig a hole")
        model.main(say("It is dug."), say("It is dug, again."))
        gate.set()
        await events.turns_over(3)

    assert [each.text for each in refused] == ["It is dug."]
    assert [each.text for each in await bot.mail()] == ["It is dug, again."]
    woken = model.requests_of("main")[3:]
    assert [RESULT in each.last_user_text() for each in woken] == [True, True]
    bot.errors.clear()


async def test_while_the_platform_is_not_there_the_model_is_not_asked(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*make("digger")), call(*dig("digger")), say("It digs."), say("It is dug."))
    model.child("digger", after(gate, say(RESULT)))
    async with plugin_config(bot, delivery={"max_attempts": 1}):
        with plugin_events(bot) as events:
            await bot.say("dig a hole")
            await events.turns_over(1)
            with switched_off(bot):
                gate.set()
                await events.run_over()
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await model.reached("main", 4)
            mail = await bot.mail()

    assert [each.text for each in mail] == ["It is dug."]
    assert len(model.requests_of("main")) == 4


async def test_of_several_messages_only_the_one_that_was_refused_is_sent_again(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    names = ("one", "two", "three")
    model.main(calls(*map(make, names)), calls(*map(dig, names)), say("They dig."))
    for name in names:
        model.child(name, after(gate, say(f"I am {name}.")))
    async with plugin_config(bot, delivery={"mode": "relay"}):
        with plugin_events(bot) as events, refusing(bot, is_of_two, times=1) as refused:
            hello = after(gate, say("Hello."))
            await bot.say("dig")
            model.main(hello)
            # a turn of the user holds them up, so that they go out together
            asking = bot.post("hello")
            await model.reached("main", 4)
            gate.set()
            await events.runs_over(3)
            await asking.done()
            mail = await bot.mail(3)

    assert len(refused) == 1
    assert sorted(each.text.splitlines()[1] for each in mail) == [
        "I am one.",
        "I am three.",
        "I am two.",
    ]
    assert "I am two." in mail[-1].text
    bot.errors.clear()


def is_of_two(sent: Sent) -> bool:
    """Whether a message holds the result of `two`."""
    return "I am two." in sent.text
