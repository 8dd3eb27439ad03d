"""Wake-up turns that come to nothing: the results are tried again, and told as they are at last."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from standin.protocol import message_text
from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.host_agents import plugin_config
from support.plugin_events import PluginEvents, plugin_events
from support.replies import after, call, fail, say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})
RESULT = "The hole is 7 m deep."
ONCE: dict[str, Any] = {"delivery": {"max_attempts": 1}}


@asynccontextmanager
async def dug_after_the_turn(bot: Bot, model: Script) -> AsyncIterator[PluginEvents]:
    """Play a turn whose background work ends after it."""
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."))
    model.child("digger", after(gate, say(RESULT)))
    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        await events.turns_over(1)
        await model.reached("digger")
        gate.set()
        await events.run_over()
        yield events


async def test_a_wake_up_that_fails_comes_again_after_a_pause(bot: Bot, model: Script) -> None:
    loop = asyncio.get_running_loop()
    async with dug_after_the_turn(bot, model) as events:
        model.main(fail(401, "no model now"), say("It is dug."))
        began = loop.time()
        await events.turns_over(3)
        seconds = loop.time() - began

    requests = model.requests_of("main")
    assert [RESULT in each.last_user_text() for each in requests[3:]] == [True, True]
    assert [each.text for each in await bot.mail()] == ["It is dug."]
    assert seconds > 4


async def test_after_the_last_attempt_the_result_is_told_as_it_is(bot: Bot, model: Script) -> None:
    async with plugin_config(bot, **ONCE), dug_after_the_turn(bot, model) as events:
        model.main(fail(401, "no model now"), say("Hello."))
        await events.turns_over(2)
        task = (await events.run_over()).run_id
        await bot.mail()
        await bot.say("hello")

    told = f"digger is done:\n{RESULT}\n[task {task}]"
    assert [each.text for each in await bot.mail()] == [told]
    assert RESULT not in model.requests_of("main")[-1].last_user_text()


type Obstacle = Callable[[Bot], Awaitable[None]]


async def white_list(bot: Bot) -> None:
    """Let only other chats through."""
    listed = {"enable_id_white_list": True, "id_whitelist": ["someone_else"]}
    await bot.configure(extra={"platform_settings": listed})


BLOCKER = """
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Blocker(Star):
    @filter.HOOK
    async def block(self, event: AstrMessageEvent, *rest):
        event.stop_event()
"""


async def message_blocker(bot: Bot) -> None:
    """A plugin that stops every message."""
    hook = "event_message_type(filter.EventMessageType.ALL)"
    await bot.plugins.add("test_blocker", BLOCKER.replace("HOOK", hook))


async def request_blocker(bot: Bot) -> None:
    """A plugin that stops every request of the model."""
    await bot.plugins.add("test_blocker", BLOCKER.replace("HOOK", "on_llm_request()"))


@pytest.mark.parametrize("obstacle", [white_list, message_blocker, request_blocker])
async def test_a_wake_up_that_is_not_let_through_ends_as_a_message(
    bot: Bot, model: Script, obstacle: Obstacle
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."))
    model.child("digger", after(gate, say(RESULT)))

    async with plugin_config(bot, **ONCE):
        await bot.say("dig a hole")
        await obstacle(bot)
        gate.set()
        mail = await bot.mail()
        if obstacle is not white_list:
            await bot.plugins.uninstall("test_blocker")

    assert len(model.requests_of("main")) == 3
    assert RESULT in mail[0].text
    assert "[task " in mail[0].text
    assert bot.errors == []


async def test_a_bot_that_is_deaf_to_itself_hears_wake_ups(bot: Bot, model: Script) -> None:
    await bot.configure(extra={"platform_settings": {"ignore_bot_self_message": True}})
    async with dug_after_the_turn(bot, model):
        model.main(say("It is dug."))
        mail = await bot.mail()

    assert [each.text for each in mail] == ["It is dug."]


async def test_a_bot_that_is_only_spoken_to_by_prefix_hears_wake_ups(
    bot: Bot, model: Script
) -> None:
    prefix = {"provider_settings": {"wake_prefix": "robot,"}, "wake_prefix": ["!"]}
    needs = {"platform_settings": {"friend_message_needs_wake_prefix": True}}
    await bot.configure(extra={**prefix, **needs})
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."), say("It is dug."))
    model.child("digger", after(gate, say(RESULT)))

    await bot.say("!robot, dig a hole")
    gate.set()
    mail = await bot.mail()

    assert [each.text for each in mail] == ["It is dug."]
    assert "robot," not in model.requests_of("main")[-1].last_user_text()


ASKER = """
import asyncio

from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star
from astrbot.core.utils.session_waiter import session_waiter

class Asker(Star):
    async def initialize(self):
        self.heard = []
        self.asked, self.answered = asyncio.Event(), asyncio.Event()

    @filter.command("order")
    async def order(self, event: AstrMessageEvent):
        @session_waiter(timeout=30)
        async def on_answer(controller, answer):
            self.heard.append((answer.get_sender_id(), answer.message_str))
            self.answered.set()
            controller.stop()

        asking = asyncio.create_task(on_answer(event))
        await asyncio.sleep(0)
        self.asked.set()
        await asking
        event.stop_event()
"""
"""A plugin that asks back and takes the next message of the chat for the answer."""


async def test_a_plugin_that_waits_for_the_users_words_is_not_given_ours(
    bot: Bot, model: Script
) -> None:
    asker = await bot.plugins.add("test_asker", ASKER)
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."), say("It is dug."))
    model.child("digger", after(gate, say(RESULT)))

    # what is held up counts as no attempt: else the result would be told as it is
    async with plugin_config(bot, **ONCE):
        with plugin_events(bot) as events:
            await bot.say("dig a hole")
            ordering = bot.post("/order")
            await asker.asked.wait()
            gate.set()
            await events.run_over()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await asker.answered.wait()
            await bot.say("the large one")
            await ordering.done()
            woken = await bot.mail()
    await bot.plugins.uninstall("test_asker")

    assert asker.heard == [("alice", "the large one")]
    assert [each.text for each in woken] == ["It is dug."]


async def test_relayed_results_are_sent_as_they_are_and_wake_nobody(
    bot: Bot, model: Script
) -> None:
    async with (
        plugin_config(bot, delivery={"mode": "relay"}),
        dug_after_the_turn(bot, model) as events,
    ):
        task = (await events.run_over()).run_id
        (mail,) = await bot.mail()
        model.main(say("Hello."))
        await bot.say("hello")

    assert mail.text == f"digger is done:\n{RESULT}\n[task {task}]"
    assert len(model.requests_of("main")) == 4
    assert RESULT not in model.requests_of("main")[-1].last_user_text()


async def test_a_chat_that_switched_the_plugin_off_is_told_what_its_tasks_had(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."), say("Hello."))
    model.child("digger", after(gate, say(RESULT)))
    switches = importlib.import_module("astrbot.core").sp
    off = {bot.umo(): {"enabled_plugins": [], "disabled_plugins": [PLUGIN_NAME]}}

    with plugin_events(bot) as events:
        await bot.say("dig a hole")
        await model.reached("digger")
        await switches.put_async("umo", bot.umo(), "session_plugin_config", off)
        await bot.say("hello")
        run = await events.run_over()
        (mail,) = await bot.mail()
    gate.set()

    assert run.state == "cancelled"
    assert f"[task {run.run_id}]" in mail.text
    assert mail.text.startswith("digger: ")
    assert message_text((await bot.history())[-1]) == "Hello."


DOORMAN = """
import asyncio
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Doorman(Star):
    async def initialize(self):
        self.came, self.door = asyncio.Event(), asyncio.Event()

    @filter.event_message_type(filter.EventMessageType.ALL, priority=10)
    async def hold(self, event: AstrMessageEvent):
        if event.get_sender_id() == "astrbot_plugin_subagents":
            self.came.set()
            await self.door.wait()
"""
"""A plugin that lets our wake-ups wait."""


async def test_a_wake_up_that_a_reload_overtakes_is_made_anew_and_the_old_one_asks_nobody(
    bot: Bot, model: Script
) -> None:
    doorman = await bot.plugins.add("test_doorman", DOORMAN)
    async with dug_after_the_turn(bot, model):
        model.main(say("It is dug."))
        await doorman.came.wait()
        await bot.plugins.reload()
        doorman.door.set()
        mail = await bot.mail()
    await bot.plugins.uninstall("test_doorman")

    assert [each.text for each in mail] == ["It is dug."]
    assert len(model.requests_of("main")) == 4
    assert RESULT in model.requests_of("main")[-1].last_user_text()
