"""What a child says and does goes into the store step by step, gapless and in order."""

import asyncio
import json
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager import RunId, RunState, Settings
from astrbot_plugin_subagents.manager.events import ModelCalled, ToolStarted
from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    RunObserver,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import (
    Artifact,
    MessageBody,
    RunStep,
    StepState,
    ToolUse,
    Usage,
)
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Hang, Say, Script, Use, says
from support import core

make_core = core.make_core


class MakingHost(FakeHost):
    """A host whose children's tools make a file each time."""

    def __init__(self, script: Script, made: Artifact) -> None:
        super().__init__(script)
        self.made = made

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        tell = observer.tool_finished

        async def tool_finished(result: ToolResult) -> None:
            await tell(core.replace(result, artifacts=(self.made,)))

        observer.tool_finished = tool_finished  # type: ignore[method-assign] # one method of it
        return await super().drive(request, observer)


def asking(call_id: str, tool: str = "search", text: str | None = None) -> MessageBody:
    call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


def answering(call_id: str, output: str = "ok") -> MessageBody:
    return {"role": "tool", "tool_call_id": call_id, "content": output}


def user(text: str) -> MessageBody:
    return {"role": "user", "content": text}


def assistant(text: str) -> MessageBody:
    return {"role": "assistant", "content": text}


async def test_a_conversation_is_stored_whole_and_in_order(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search"), Use(tool="write"), Say(text="done")))
    turn = await it.turn()
    scout = await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="Look.")

    assert await it.stored_messages(scout) == [
        user("Look."),
        asking("call0"),
        answering("call0"),
        asking("call1", "write"),
        answering("call1"),
        assistant("done"),
    ]


async def test_memory_over_several_tasks_is_appended_once(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search"), Say(text="done")))
    turn = await it.turn()
    scout = await it.create("scout", turn)

    for text in ("one", "two", "three"):
        await it.call("transfer_to_scout", turn, input=text)

    def task(text: str) -> list[MessageBody]:
        return [user(text), asking("call0"), answering("call0"), assistant("done")]

    stored = await it.stored_messages(scout)
    assert stored == [*task("one"), *task("two"), *task("three")]
    histories = [list(request.history) for request in it.host.requests]
    assert histories == [[], stored[:4], stored[:8]]


async def test_temporary_notes_are_never_stored(make_core: core.MakeCore) -> None:
    it = await make_core(settings=Settings(time_prompt_enabled=True))
    turn = await it.turn()
    scout = await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="Look.")

    assert it.host.requests[0].notes
    assert "Current time" not in json.dumps([*await it.stored_messages(scout)])


async def test_each_tool_call_is_a_step_with_its_outcome(make_core: core.MakeCore) -> None:
    it = await make_core(
        says(
            Use(tool="search", arguments='{"q": 1}', output="found", read_only=True),
            Use(tool="write", output="denied", is_error=True),
            Say(text="done"),
        )
    )
    turn = await it.turn()
    await it.create("scout", turn)

    run_id = RunId(core.task_id(await it.call("transfer_to_scout", turn, input="Look.")))

    assert await it.store.run_steps(run_id) == [
        RunStep(
            run_id=run_id,
            key="1:call0",
            name="search",
            arguments='{"q": 1}',
            output="found",
            at=EPOCH,
        ),
        RunStep(
            run_id=run_id,
            key="2:call1",
            name="write",
            arguments="{}",
            output="denied",
            is_error=True,
            at=EPOCH,
        ),
    ]


@pytest.mark.parametrize("read_only", [True, False])
async def test_only_a_call_that_may_change_something_is_noted_before_it_runs(
    make_core: core.MakeCore, read_only: bool
) -> None:
    gate = asyncio.Event()
    it = await make_core(says(Use(tool="write", gate=gate, read_only=read_only), Say(text="x")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = RunId(
        core.task_id(await it.call("transfer_to_scout", turn, input="Go.", background_task=True))
    )
    await it.until(lambda event: isinstance(event, ToolStarted))

    states = [step.state for step in await it.store.run_steps(run_id)]

    assert states == ([] if read_only else [StepState.INTENT])
    gate.set()
    await it.until_over(run_id)
    assert [step.state for step in await it.store.run_steps(run_id)] == [StepState.DONE]


async def test_what_was_done_is_in_the_store_while_the_child_goes_on(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(Use(tool="search", text="I look."), hang))
    turn = await it.turn()
    scout = await it.create("scout", turn)
    run_id = RunId(
        core.task_id(await it.call("transfer_to_scout", turn, input="Go.", background_task=True))
    )
    await hang.reached.wait()

    stored = await it.store.get_run(turn.session, run_id)

    assert stored is not None
    assert (stored.state, stored.steps, stored.last_text) == (RunState.RUNNING, 1, "I look.")
    assert stored.usage == Usage(input=10, output=5)
    assert stored.tools_used == (ToolUse(name="search", calls=1),)
    assert len(await it.stored_messages(scout)) == 3


@pytest.mark.parametrize("stop", ["timeout", "idle", "cancel"])
async def test_whatever_ends_a_run_nothing_recorded_is_lost(
    make_core: core.MakeCore, stop: str
) -> None:
    gate = asyncio.Event()
    it = await make_core(
        says(Use(tool="search", text="I look."), Use(tool="write", gate=gate, limited=False)),
        settings=Settings(execution_timeout=100 if stop == "timeout" else 0, idle_timeout=50),
    )
    turn = await it.turn()
    scout = await it.create("scout", turn)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Go.", background_task=True)
    )
    await it.until(lambda event: isinstance(event, ToolStarted), count=2)

    if stop == "cancel":
        await it.call("cancel_subagent_task", turn, task_id=run_id)
    it.clock.advance(200)
    await it.until_over(run_id)

    assert await it.stored_messages(scout) == [
        user("Go."),
        asking("call0", text="I look."),
        answering("call0"),
    ]
    steps = [(step.name, step.state) for step in await it.store.run_steps(RunId(run_id))]
    assert steps == [("search", StepState.DONE), ("write", StepState.INTENT)]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_write_that_is_cancelled_in_the_middle_leaves_no_gap_and_no_double(
    make_core: core.MakeCore, after: bool
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Use(tool="write"), Say(text="x")), store=trouble.store)
    turn = await it.turn()
    scout = await it.create("scout", turn)
    hold = trouble.hold("write_run", after=after)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Go.", background_task=True)
    )
    await hold.reached.wait()
    stopping = asyncio.create_task(it.call("cancel_subagent_task", turn, task_id=run_id))
    await core.settled()
    hold.gate.set()
    await stopping
    trouble.holds.clear()

    await it.call("transfer_to_scout", turn, input="Again.")

    assert await it.stored_messages(scout) == [
        user("Go."),
        user("Again."),
        asking("call0", "write"),
        answering("call0"),
        assistant("x"),
    ]
    assert (await it.store.get_run(turn.session, RunId(run_id))) == await it.run(run_id)


async def test_writes_that_fail_for_a_while_leave_no_gap(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    first, second = Hang(), Hang()
    it = await make_core(
        says(Use(tool="search"), first, Use(tool="search"), second, Say(text="done")),
        store=trouble.store,
    )
    turn = await it.turn()
    scout = await it.create("scout", turn)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Go.", background_task=True)
    )
    await first.reached.wait()
    trouble.failing.add("write_run")
    first.gate.set()
    await second.reached.wait()
    assert len(await it.stored_messages(scout)) == 3
    trouble.failing.clear()

    second.gate.set()
    await it.until_over(run_id)

    assert await it.stored_messages(scout) == [
        user("Go."),
        asking("call0"),
        answering("call0"),
        asking("call2"),
        answering("call2"),
        assistant("done"),
    ]
    assert len(await it.store.run_steps(RunId(run_id))) == 2


async def test_files_that_a_child_made_travel_with_its_result_once_each(
    make_core: core.MakeCore, tmp_path: Path
) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"a picture")
    made = Artifact(kind="image", path=str(picture))
    it = await make_core(
        host=MakingHost(says(Use(tool="draw"), Use(tool="draw"), Say(text="x")), made)
    )
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="Draw.")

    (kept,) = (await it.run(core.task_id(reply))).artifacts
    assert (kept.kind, kept.path.endswith("a.png")) == ("image", True)
    assert reply.count(f"made image: {kept.path}") == reply.count("made image: ") == 1


async def test_steps_are_counted_from_one_in_every_run(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search"), Say(text="x")))
    turn = await it.turn()
    await it.create("scout", turn)
    for _ in range(2):
        await it.call("transfer_to_scout", turn, input="Go.")

    assert [event.step for event in it.events if isinstance(event, ModelCalled)] == [1, 2, 1, 2]
