"""Hosts and listeners that do not keep their part: a run still ends once, and truly."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import RunState
from astrbot_plugin_subagents.manager.errors import AgentNotFound
from astrbot_plugin_subagents.manager.events import Event
from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    ModelReply,
    RunObserver,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import ToolUse, Usage
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from support import core

make_core = core.make_core

type Drive = Callable[[AgentRequest, RunObserver], Awaitable[Any]]


class OddHost(FakeHost):
    """A host that drives children as a test says."""

    def __init__(self, odd: Drive) -> None:
        super().__init__()
        self.odd = odd

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        outcome: AgentOutcome = await self.odd(request, observer)
        return outcome


async def reply_of(make_core: core.MakeCore, drive: Drive) -> tuple[core.Core, str]:
    it = await make_core(host=OddHost(drive))
    turn = await it.turn()
    await it.create("scout", turn)
    reply = await it.call("transfer_to_scout", turn, input="x")
    assert core.ended_ids(it.events) == [core.task_id(reply)]
    manager = await it.open()
    assert (manager.runs.live(), manager.runs.free_places()) == ([], 16)
    return it, reply


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("boom"),
        KeyError("boom"),
        TimeoutError("boom"),
        AgentNotFound("boom", []),
        asyncio.CancelledError("boom"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_driver_that_raises_fails_the_run(
    make_core: core.MakeCore, error: BaseException
) -> None:
    async def drive(_: AgentRequest, observer: RunObserver) -> None:
        await observer.before_model_call()
        await observer.model_replied(ModelReply(text="so far", usage=Usage(input=3)))
        raise error

    it, reply = await reply_of(make_core, drive)

    run = await it.run(core.task_id(reply))
    assert (run.state, run.last_text, run.usage) == (RunState.FAILED, "so far", Usage(input=3))
    assert "state: FAILED" in reply
    assert "\nso far\n" in reply


@pytest.mark.parametrize("nonsense", [None, "text", 5, {"text": "x"}])
async def test_a_driver_that_returns_nonsense_fails_the_run(
    make_core: core.MakeCore, nonsense: object
) -> None:
    async def drive(_: AgentRequest, __: RunObserver) -> object:
        return nonsense

    _, reply = await reply_of(make_core, drive)

    assert "state: FAILED" in reply
    assert "[internal_error]" in reply


@pytest.mark.parametrize("tools", [False, True])
async def test_messages_that_cannot_be_stored_cost_themselves_and_not_the_result(
    make_core: core.MakeCore, tools: bool
) -> None:
    async def drive(request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        await observer.messages_added([{"role": "user", "content": request.prompt}])
        await observer.before_model_call()
        await observer.model_replied(ModelReply(text="the answer", usage=Usage(input=3)))
        if tools:
            await observer.tool_finished(ToolResult(call_id="c", name="see", output="x"))
        await observer.messages_added([{"role": "assistant", "content": object()}])
        return AgentOutcome(text="the answer")

    it, reply = await reply_of(make_core, drive)

    assert "\nthe answer\n" in reply
    run = await it.run(core.task_id(reply))
    assert run.is_over
    assert await it.store.get_run(run.session, run.run_id) == run


async def test_a_result_without_its_call_is_counted_all_the_same(
    make_core: core.MakeCore,
) -> None:
    async def drive(_: AgentRequest, observer: RunObserver) -> AgentOutcome:
        await observer.tool_finished(ToolResult(call_id="c", name="see", output="x"))
        return AgentOutcome(text="x")

    it, reply = await reply_of(make_core, drive)

    assert (await it.run(core.task_id(reply))).tools_used == (ToolUse(name="see", calls=1),)


async def test_a_driver_that_makes_a_failure_of_a_shutdown_does_not_end_the_run(
    make_core: core.MakeCore,
) -> None:
    reached = asyncio.Event()

    async def drive(_: AgentRequest, __: RunObserver) -> AgentOutcome:
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError("torn") from None
        return AgentOutcome(text="never")

    it = await make_core(host=OddHost(drive))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await reached.wait()
    await it.sessions.close()

    root = await make_core(store=it.store, clock=it.clock)
    await root.until_over(run_id)

    assert core.ended_ids(it.events) == []
    assert (await root.run(run_id)).state is RunState.COMPLETED


async def test_a_host_that_cannot_prepare_a_child_fails_the_run(
    make_core: core.MakeCore,
) -> None:
    class NoSkills(FakeHost):
        def skills_prompt(self, session: object, names: object) -> str:
            raise OSError("no folder of skills")

    it = await make_core(host=NoSkills())
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")

    assert "[internal_error]" in reply
    assert "no folder of skills" in reply


async def test_a_listener_that_fails_hurts_nobody(
    make_core: core.MakeCore, caplog: pytest.LogCaptureFixture
) -> None:
    it = await make_core()
    later: list[Event] = []

    def broken(_: Event) -> None:
        raise RuntimeError("boom")

    it.services.bus.subscribe(broken)
    it.services.bus.subscribe(later.append)
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")
    await it.end(turn)

    assert "state: completed" in reply
    assert later == it.events
    assert "A subscriber failed on RunChanged" in caplog.text


async def test_a_listener_that_leaves_or_comes_while_it_is_told_is_no_harm(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    heard: list[Event] = []

    def once(event: Event) -> None:
        heard.append(event)
        leave()
        leave()
        it.services.bus.subscribe(heard.append)

    leave = it.services.bus.subscribe(once)
    turn = await it.turn()

    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")

    assert heard == it.events


async def test_a_close_waits_for_a_child_that_lets_go_late(make_core: core.MakeCore) -> None:
    reached, gate = asyncio.Event(), asyncio.Event()

    async def drive(_: AgentRequest, __: RunObserver) -> AgentOutcome:
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await gate.wait()
            raise
        return AgentOutcome(text="never")

    it = await make_core(host=OddHost(drive))
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="x", background_task=True)
    await reached.wait()
    waiting = asyncio.create_task(it.call("wait_for_subagent", turn))
    await core.settled()
    closing = asyncio.create_task(it.sessions.close())
    assert "is being reloaded" in await waiting
    assert not closing.done()

    gate.set()

    await closing


async def test_a_task_that_is_stopped_by_strangers_is_taken_up_later(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await hang.reached.wait()
    (task,) = [task for task in asyncio.all_tasks() if task.get_name() == f"run {run_id}"]

    task.cancel()
    await core.settled()
    await it.sessions.close()

    root = await make_core(says(Say(text="done")), store=it.store, clock=it.clock)
    await root.until_over(run_id)
