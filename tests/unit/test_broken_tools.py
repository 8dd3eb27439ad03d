"""Whatever a tool raises, its run ends once, is told, and leaves nothing behind."""

import asyncio
from pathlib import Path
from typing import override

import pytest

from astrbot_plugin_subagents.manager import RunId, RunState, SessionId, Settings
from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    RunObserver,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import Artifact, DeliveryState
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import FakeHost
from support import core

make_core = core.make_core


class Panic(BaseException):
    """What a library of another language raises when it breaks."""


class Unreadable(Exception):
    """An error that cannot even say what it is."""

    @override
    def __str__(self) -> str:
        raise RuntimeError("no words")


class BrokenHost(FakeHost):
    """The tool of a child's first run raises; the later ones work."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    @override
    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        if self.requests:
            return await super().drive(request, observer)
        self.requests.append(request)
        raise self.error


RAISED = [
    Panic("index out of bounds"),
    BaseExceptionGroup("several", [Panic("one"), ValueError("two")]),
    BaseExceptionGroup("several", [asyncio.CancelledError()]),
    GeneratorExit("odd"),
    Unreadable(),
    RuntimeError("long " * 1_000_000),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
async def test_a_run_whose_tool_raises_fails_and_is_told_once(
    make_core: core.MakeCore, error: BaseException
) -> None:
    it = await make_core(host=BrokenHost(error))
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")
    again = await it.call("transfer_to_scout", turn, input="x")
    await it.end(turn)

    assert ("state: FAILED" in reply, "[internal_error]" in reply) == (True, True)
    assert type(error).__name__ in reply
    assert len(reply) < 2_000
    assert "state: completed" in again
    assert len(core.ended_ids(it.events)) == 2
    assert await it.store.unfinished_runs() == []
    assert (await it.open()).is_idle()
    rows = await it.store.load_deliveries(turn.session, states=tuple(DeliveryState))
    assert [row.state for row in rows] == [DeliveryState.ACKNOWLEDGED] * 2


async def test_a_background_run_whose_tool_raises_is_told_to_who_waits(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=BrokenHost(Panic("boom")))
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="x", background_task=True)

    reply = await it.call("wait_for_subagent", turn)

    assert "reason: Panic: boom [internal_error]" in reply


async def test_a_host_that_breaks_while_it_prepares_a_child_fails_the_run(
    make_core: core.MakeCore,
) -> None:
    class NoSkills(FakeHost):
        @override
        def skills_prompt(self, session: object, names: object) -> str:
            raise Panic("no skills")

    it = await make_core(host=NoSkills())
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")

    assert "reason: Panic: no skills [internal_error]" in reply


async def test_a_run_that_is_stopped_while_its_tool_breaks_is_stopped(
    make_core: core.MakeCore,
) -> None:
    reached = asyncio.Event()

    class Tearing(FakeHost):
        @override
        async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
            try:
                reached.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise Panic("torn") from None
            return AgentOutcome(text="never")

    it = await make_core(host=Tearing())
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await reached.wait()

    reply = await it.call("cancel_subagent_task", turn, task_id=run_id)

    assert "state: cancelled" in reply
    assert core.ended_ids(it.events) == [run_id]


async def test_what_a_run_made_cannot_cost_its_end(make_core: core.MakeCore) -> None:
    class Making(FakeHost):
        @override
        async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
            odd = Artifact(kind="image", path=None, name="a.png")  # type: ignore[arg-type] # on purpose
            await observer.tool_finished(
                ToolResult(call_id="c", name="draw", output="x", artifacts=(odd,))
            )
            return AgentOutcome(text="drawn")

    it = await make_core(host=Making())
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")

    assert "\ndrawn\n" in reply
    assert "made image a.png, but it could not be kept" in reply


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_a_tool_that_ends_the_process_ends_its_run_first(
    tmp_path: Path, error: BaseException
) -> None:
    store = MemoryStore()
    run_ids: list[str] = []

    async def work() -> None:
        it = core.Core(tmp_path, host=BrokenHost(error), store=store, settings=Settings())
        await it.sessions.start()
        turn = await it.turn()
        await it.create("scout", turn)
        reply = await it.call("transfer_to_scout", turn, input="x", background_task=True)
        run_ids.append(core.task_id(reply))
        await asyncio.Event().wait()

    with pytest.raises(type(error)):
        asyncio.run(work())

    run = asyncio.run(store.get_run(SessionId("chat"), RunId(run_ids[0])))
    assert run is not None
    assert (run.state, run.failure and run.failure.code) == (RunState.FAILED, "internal_error")
