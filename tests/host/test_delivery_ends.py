"""Results in turns that end in every way: the model has each for good once, and loses none."""

import asyncio
import json
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.plugin_events import WAIT_SECONDS, plugin_events
from support.replies import Step, call, calls, fail, say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig here."})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})
RESULT = "The hole is 7 m deep."

SPOKESMAN = """
from astrbot.api.event import AstrMessageEvent, MessageChain, filter
from astrbot.api.star import Star

class Spokesman(Star):
    @filter.HOOK
    async def speak(self, event: AstrMessageEvent, *rest):
        await event.send(MessageChain().message("The plugin speaks."))
        event.stop_event()
"""
"""A plugin that gives the answer in its own way and stops the event."""

SPEAKING_TOOL = """
from astrbot.api import FunctionTool
from astrbot.api.event import MessageChain
from astrbot.api.star import Star

class Announce(FunctionTool):
    def __init__(self):
        super().__init__(
            name="announce",
            description="Tell the user; this ends your turn.",
            parameters={"type": "object", "properties": {}},
        )

    async def call(self, context):
        await context.context.event.send(MessageChain().message("Announced."))
        return None

class Speaker(Star):
    async def initialize(self):
        self.context.add_llm_tools(Announce())
"""
"""A tool that answers the user itself, after which AstrBot does not ask the model again."""

FOREIGN_AGENT = """
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star
from astrbot.core.astr_agent_hooks import MAIN_AGENT_HOOKS
from astrbot.core.agent.run_context import ContextWrapper

class Foreign(Star):
    @filter.on_llm_request()
    async def ask(self, event: AstrMessageEvent, req):
        from astrbot.api.provider import LLMResponse
        from types import SimpleNamespace
        context = SimpleNamespace(context=SimpleNamespace(event=event))
        await MAIN_AGENT_HOOKS.on_agent_begin(context)
        response = LLMResponse(role="assistant", completion_text="foreign")
        await MAIN_AGENT_HOOKS.on_agent_done(context, response)
"""
"""A plugin whose own agent tells AstrBot's hooks of its beginning and end in the user's turn."""


class Held:
    """A model's answer that waits for the test."""

    def __init__(self, step: Step) -> None:
        self._asked = asyncio.Event()
        self.gate = asyncio.Event()
        self._step = step

    async def reached(self) -> None:
        """Wait until the model is asked for it."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self._asked.wait()

    async def __call__(self, _: Any) -> Any:
        self._asked.set()
        await self.gate.wait()
        return self._step


def told(model: Script) -> int:
    """How often the newest request of the main model holds the result."""
    return json.dumps(model.requests_of("main")[-1].messages).count(RESULT)


async def with_a_waiting_result(bot: Bot, model: Script) -> None:
    """Play a turn that its user stops when its sub-agent's result is there.

    Nobody is woken for it then: it waits for the user's next turn.
    """
    answer = Held(say("The digger is at work."))
    model.main(call(*MAKE), call(*DIG_BEHIND), answer)
    model.child("digger", then=say(RESULT))
    with plugin_events(bot) as events:
        running = bot.post("dig")
        await answer.reached()
        await events.run_over()
        await bot.say("/stop")
        answer.gate.set()
        await running.done()
        await events.turns_over(1)


@pytest.mark.parametrize(
    "hook",
    [
        "on_llm_response()",
        "on_agent_done(priority=5)",
        "on_decorating_result()",
        "after_message_sent()",
    ],
)
async def test_a_plugin_that_answers_in_its_own_way_makes_no_result_come_again(
    bot: Bot, model: Script, hook: str
) -> None:
    await with_a_waiting_result(bot, model)
    await bot.plugins.add("test_spokesman", SPOKESMAN.replace("HOOK", hook))
    model.main(call(*DIG), say("Dug twice."), call("list_subagents"), say("Nobody."))

    await bot.say("what came of it?")
    first_turn = told(model)
    await bot.plugins.uninstall("test_spokesman")
    await bot.say("and now?")

    assert first_turn == 2
    request = model.requests_of("main")[-1]
    assert RESULT not in request.last_user_text()
    assert "transfer_to_digger" not in request.tool_names()


async def test_a_tool_that_answers_the_user_itself_makes_no_result_come_again(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.add("test_speaker", SPEAKING_TOOL)
    await with_a_waiting_result(bot, model)
    model.main(call("announce"), say("Hello."))

    await bot.say("what came of it?")
    first_turn = told(model)
    await bot.say("and now?")
    await bot.plugins.uninstall("test_speaker")

    assert (first_turn, told(model)) == (1, 0)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
@pytest.mark.parametrize("how", ["/stop", "reload"])
async def test_a_result_that_a_request_carried_is_not_told_again_after_the_turn_was_cut_off(
    bot: Bot, model: Script, how: str, mode: str, streaming: bool
) -> None:
    await bot.configure(streaming=streaming, tool_schema_mode=mode, extra={"admins_id": ["alice"]})
    answer = Held(say("Dug."))
    model.main(call(*MAKE), call(*DIG), answer, say("Seven metres."))
    model.child("digger", say(RESULT))

    running = bot.post("dig")
    await answer.reached()
    await (bot.say("/stop") if how == "/stop" else bot.plugins.reload())
    answer.gate.set()
    await running.done()
    await bot.say("how deep?")

    # where AstrBot keeps the turn: in the conversation
    assert told(model) == 1
    assert RESULT not in model.requests_of("main")[-1].last_user_text()


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_result_at_the_head_of_a_stopped_turn_comes_again(
    bot: Bot, model: Script, streaming: bool
) -> None:
    await bot.configure(streaming=streaming, extra={"admins_id": ["alice"]})
    await with_a_waiting_result(bot, model)
    answer = Held(say("It is"))
    model.main(answer, say("Seven metres."), say("Bye."))

    running = bot.post("what came of it?")
    await answer.reached()
    await bot.say("/stop")
    answer.gate.set()
    await running.done()
    seen = []
    for text in ("how deep?", "thanks"):
        await bot.say(text)
        seen.append(told(model))

    assert seen == [1, 0]


async def test_a_result_at_the_head_of_a_turn_that_outlives_a_reload_comes_once(
    bot: Bot, model: Script
) -> None:
    await with_a_waiting_result(bot, model)
    answer = Held(say("Seven metres."))
    model.main(answer, say("Bye."))

    running = bot.post("what came of it?")
    await answer.reached()
    await bot.plugins.reload()
    answer.gate.set()
    await running.done()
    await bot.say("thanks")

    assert told(model) == 0


async def test_a_result_of_a_step_that_was_stopped_comes_again(bot: Bot, model: Script) -> None:
    await bot.configure(extra={"admins_id": ["alice"]})
    held = Held(say("never read"))
    made = ("create_subagent", {"name": "miner", "system_prompt": "Mine."})
    mine = ("transfer_to_miner", {"input": "Mine here."})
    model.main(calls(MAKE, made), calls(DIG, mine), say("Seven metres."))
    model.child("digger", say(RESULT))
    model.child("miner", held)

    with plugin_events(bot) as events:
        running = bot.post("dig")
        await held.reached()
        await bot.say("/stop")
        _, mined = await events.runs_over(2)
        held.gate.set()
        await running.done()
    await bot.say("how deep?")

    assert (mined.agent, mined.state) == ("miner", "cancelled")
    # AstrBot keeps no step that was cut off
    assert told(model) == 1
    assert RESULT in model.requests_of("main")[-1].last_user_text()


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_result_comes_again_after_the_model_failed(
    bot: Bot, model: Script, streaming: bool
) -> None:
    await bot.configure(streaming=streaming)
    model.main(call(*MAKE), call(*DIG), fail(401), say("Seven metres."), say("Bye."))
    model.child("digger", say(RESULT))

    await bot.say("dig")
    seen = []
    for text in ("how deep?", "thanks"):
        await bot.say(text)
        seen.append(told(model))

    assert seen == [1, 0]


async def test_the_end_of_another_agent_in_the_turn_is_no_answer(bot: Bot, model: Script) -> None:
    await bot.plugins.add("test_foreign", FOREIGN_AGENT)
    model.main(call(*MAKE), call(*DIG), fail(401), say("Seven metres."))
    model.child("digger", say(RESULT))

    await bot.say("dig")
    await bot.say("how deep?")
    await bot.plugins.uninstall("test_foreign")

    assert told(model) == 1
