"""Stopping a child: at once, in a model call and in a tool, and nothing of it stays behind."""

import asyncio
import time

import pytest

from astrbot_plugin_subagents.manager.host import AgentOutcome
from support.child_stage import ChildStage
from support.recording import Recording
from support.replies import call, never, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

QUICK_SECONDS = 0.5


async def test_a_hanging_model_call_is_left_at_once(stage: ChildStage) -> None:
    before = asyncio.all_tasks()
    stage.model.child("scout", call("search", text="I search."), never())
    seen = Recording()
    run = asyncio.create_task(stage.host.drive(stage.request(), seen))
    await stage.model.reached("scout", 2)

    assert await _cancelled_in(run) < QUICK_SECONDS

    assert seen.order[-1] == "before_model_call"
    assert [body["role"] for body in seen.messages] == ["user", "assistant", "tool"]
    await stage.model.idle()
    assert await _left_since(before) == set()


async def test_a_hanging_tool_is_left_at_once(stage: ChildStage) -> None:
    before = asyncio.all_tasks()
    stage.plugin.plays.append(("never", False, asyncio.Event()))
    stage.model.child("scout", call("search", text="I search."))
    seen = Recording()
    run = asyncio.create_task(stage.host.drive(stage.request(), seen))
    await seen.heard("tool_started")
    await _in_tool(stage)

    assert await _cancelled_in(run) < QUICK_SECONDS

    assert stage.plugin.running == 0
    assert seen.order[-2:] == ["model_replied", "tool_started"]
    assert await _left_since(before) == set()


async def test_a_child_that_is_stopped_hurts_no_other(stage: ChildStage) -> None:
    gate = asyncio.Event()
    stage.plugin.plays.extend([("never", False, asyncio.Event()), ("found", False, gate)])
    stage.model.child("scout", call("search"), call("search"), say("I was not stopped"))
    stopped, lasting = Recording(), Recording()
    first = asyncio.create_task(stage.host.drive(stage.request(), stopped))
    await _in_tool(stage)
    second = asyncio.create_task(stage.host.drive(stage.request(), lasting))
    await _in_tool(stage, 2)

    await _cancelled_in(first)
    gate.set()

    assert await second == AgentOutcome(text="I was not stopped")


async def test_an_observer_that_ends_the_run_leaves_nothing_behind(stage: ChildStage) -> None:
    before = asyncio.all_tasks()
    stage.model.child("scout", call("search"))
    seen = Recording(tool_started=LookupError("taken over"))

    with pytest.raises(LookupError):
        await stage.host.drive(stage.request(), seen)

    assert stage.plugin.calls == []
    assert await _left_since(before) == set()


async def test_a_tool_that_does_not_let_go_at_once_is_waited_for(stage: ChildStage) -> None:
    gate = asyncio.Event()

    class Stubborn:
        async def wait(self) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await gate.wait()

    stage.plugin.plays.append(("late", False, Stubborn()))
    stage.model.child("scout", call("search"))
    seen = Recording()
    run = asyncio.create_task(stage.host.drive(stage.request(), seen))
    await _in_tool(stage)
    asyncio.get_running_loop().call_later(0.1, run.cancel)
    asyncio.get_running_loop().call_later(0.2, gate.set)

    assert await _cancelled_in(run) < 1

    assert (stage.plugin.running, seen.order[-1]) == (0, "tool_started")


async def _cancelled_in(run: asyncio.Task[AgentOutcome]) -> float:
    begun = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    return time.monotonic() - begun


async def _in_tool(stage: ChildStage, count: int = 1) -> None:
    async with asyncio.timeout(5):
        while stage.plugin.running != count:
            stage.plugin.changed.clear()
            await stage.plugin.changed.wait()


async def _left_since(before: set[asyncio.Task[object]]) -> set[asyncio.Task[object]]:
    # what ends by itself gets a few rounds of the loop to do so
    for _ in range(20):
        await asyncio.sleep(0)
    # the scripted model's server keeps its connections open
    return {task for task in asyncio.all_tasks() - before if "aiohttp" not in repr(task)}
