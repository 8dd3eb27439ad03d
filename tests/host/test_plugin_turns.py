"""Turns that end in all the ways a turn can end, and what becomes of the work begun in them."""

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.plugin_events import WAIT_SECONDS, plugin_events
from support.replies import Step, after, call, calls, fail, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig here."})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})

STOPPER = """
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Stopper(Star):
    @filter.on_llm_request()
    async def stop(self, event: AstrMessageEvent, req):
        if "halt there" in event.message_str:
            event.stop_event()
"""


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "end",
    [say("All dug."), fail(401, "no model today"), fail(500, "no model today")],
    ids=["answer", "refused", "broken"],
)
async def test_unprotected_agents_go_when_the_turn_is_over_and_their_results_were_read(
    bot: Bot, model: Script, end: Step, streaming: bool
) -> None:
    await bot.configure(streaming=streaming)
    model.main(call(*MAKE), then=end)

    with plugin_events(bot) as events:
        await bot.say("make a digger")
        await events.first(_is("AgentRemoved"))
    model.main(call("list_subagents"), then=say("none"))
    await bot.say("who is there?")

    request = model.requests_of("main")[-1]
    assert "transfer_to_digger" not in request.tool_names()
    assert "digger" not in tool_results(request)[-1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("command", ["/stop", "/reset"])
async def test_a_stop_or_reset_ends_all_work_of_the_user(
    bot: Bot, model: Script, command: str, streaming: bool
) -> None:
    gate = asyncio.Event()
    await bot.configure(streaming=streaming, extra={"admins_id": ["alice"]})
    behind = "dig behind the house"
    model.main(calls(MAKE, ("create_subagent", {"name": "miner", "system_prompt": "Mine."})))
    model.main(call("transfer_to_miner", {"input": behind, "background_task": True}), call(*DIG))
    # AstrBot 4.26 asks once more
    model.main(then=say("too late"))
    model.child("digger", after(gate, say("dug")))
    model.child("miner", after(gate, say("mined")))

    with plugin_events(bot) as events:
        running = bot.post("dig")
        await model.reached("digger")
        await bot.say(command)
        ended = await events.runs_over(2)
        gate.set()
        await running.done()

    assert {(run.agent, run.state) for run in ended} == {
        ("digger", "cancelled"),
        ("miner", "cancelled"),
    }


async def test_a_turn_that_another_plugin_stops_leaves_nothing_open(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.add("test_stopper", STOPPER)
    model.main(say("hello"))

    stopped = await bot.say("halt there")
    answered = await bot.say("hello")
    await bot.plugins.uninstall("test_stopper")

    assert stopped.stopped
    assert answered.answer == "hello"


async def test_a_cancelled_turn_takes_its_foreground_child_along(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG))
    model.child("digger", after(gate, say("dug")))

    with plugin_events(bot) as events:
        running = bot.post("dig")
        await model.reached("digger")
        _task_of(running.event).cancel()
        ended = await events.run_over()
        gate.set()
        turn = await running.done()

    assert turn.cancelled
    assert ended.state == "cancelled"


async def test_a_follow_up_belongs_to_the_running_turn(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("Dug, and deeper too."))
    model.child("digger", after(gate, say("dug")))

    running = bot.post("dig")
    await model.reached("digger")
    following = bot.post("and deeper!")
    await _captured(bot)
    gate.set()
    turn = await running.done()
    follow_up = await following.done()

    assert turn.answer == "Dug, and deeper too."
    assert follow_up.answers == ()
    assert "and deeper!" in tool_results(model.requests_of("main")[2])[-1]


async def test_another_users_message_waits_and_is_a_turn_of_its_own(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("Dug."), call("list_subagents"), say("Nobody."))
    model.child("digger", after(gate, say("dug")))

    alices = bot.post("dig", group="g_turns", sender="alice")
    await model.reached("digger")
    bobs = bot.post("who is there?", group="g_turns", sender="bob")
    gate.set()

    assert (await alices.done()).answer == "Dug."
    assert (await bobs.done()).answer == "Nobody."
    assert "digger" not in tool_results(model.requests_of("main")[4])[-1]


async def test_a_plain_command_begins_no_turn(bot: Bot, model: Script) -> None:
    turn = await bot.say("/help")

    assert turn.error is None
    assert model.requests_of("main") == []
    assert bot.errors == []


def _is(name: str) -> Callable[[object], bool]:
    return lambda happened: _name(happened) == name


async def _captured(bot: Bot) -> None:
    """Wait until the running turn of the test's chat has swallowed a message."""
    # AstrBot tells nobody; see core/pipeline/process_stage/follow_up.py.
    stage = importlib.import_module("astrbot.core.pipeline.process_stage.follow_up")
    runners: Any = vars(stage)["_ACTIVE_AGENT_RUNNERS"]
    async with asyncio.timeout(WAIT_SECONDS):
        while not vars(runners[bot.umo()])["_pending_follow_ups"]:  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


def _name(happened: object) -> str:
    return type(happened).__name__


def _task_of(event: object) -> asyncio.Task[object]:
    """The task in which AstrBot runs the pipeline for an event."""
    for task in asyncio.all_tasks():
        for frame in task.get_stack(limit=1):
            if frame.f_code.co_name == "execute" and frame.f_locals.get("event") is event:
                return task
    raise LookupError("no task runs this event")
