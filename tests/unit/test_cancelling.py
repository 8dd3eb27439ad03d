"""Stopping tasks, wherever they are; the reply carries what they had."""

import asyncio
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import RunState, StopReason
from astrbot_plugin_subagents.manager.events import ToolStarted
from astrbot_plugin_subagents.manager.host import AgentOutcome, AgentRequest, RunObserver
from astrbot_plugin_subagents.manager.models import ToolUse
from astrbot_plugin_subagents.manager.testing import Act, FakeHost, Hang, Say, Use, says
from support import core

make_core = core.make_core


async def test_a_task_in_the_line_is_stopped_without_beginning(make_core: core.MakeCore) -> None:
    it = await make_core(says(Hang()))
    turn = await it.turn()
    await it.create("scout", turn)
    first, second = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xy"
    ]

    reply = await it.call("cancel_subagent_task", turn, task_id=second)

    assert reply.startswith("Stopped.")
    assert "state: cancelled" in reply
    assert "result: none; it wrote no text" in reply
    assert len(it.host.requests) == 1
    assert core.states_of(it.events, second) == [RunState.QUEUED, RunState.CANCELLED]
    assert (await it.run(first)).state is RunState.RUNNING


@pytest.mark.parametrize("kind", ["model", "tool", "unlimited tool"])
async def test_a_task_at_work_is_stopped_and_what_it_had_is_kept(
    make_core: core.MakeCore, kind: str
) -> None:
    gate = asyncio.Event()
    hangs: dict[str, Act] = {
        "model": Hang(),
        "tool": Use(tool="write", gate=gate),
        "unlimited tool": Use(tool="write", gate=gate, limited=False),
    }
    it = await make_core(says(Use(tool="search", text="I began."), hangs[kind]))
    turn = await it.turn()
    scout = await it.create("scout", turn)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await it.until(lambda event: isinstance(event, ToolStarted), count=1 + (kind != "model"))

    reply = await it.call("cancel_subagent_task", turn, subagent_name="scout")

    run = await it.store.get_run(turn.session, (await it.run(run_id)).run_id)
    assert run is not None
    assert (run.state, run.last_text) == (RunState.CANCELLED, "I began.")
    cut_off = () if kind == "model" else (ToolUse(name="write", calls=1),)
    assert run.tools_used == (ToolUse(name="search", calls=1), *cut_off)
    assert run.usage.total == 15 * run.steps
    assert "what it had so far" in reply
    assert "\nI began.\n" in reply
    messages = await it.stored_messages(scout)
    assert [body["role"] for body in messages] == ["user", "assistant", "tool"]


async def test_a_finished_task_cannot_be_stopped(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="Look."))
    before = await core.snapshot(it)

    by_id = await it.call("cancel_subagent_task", turn, task_id=run_id)
    by_name = await it.call("cancel_subagent_task", turn, subagent_name="scout")

    assert by_id.startswith(f"Error: Task {run_id} is already over: completed.")
    assert "`read_subagent_result`" in by_id
    assert by_name == "Nothing to stop: scout has no unfinished task."
    assert await core.snapshot(it) == before


async def test_all_tasks_of_an_agent_are_stopped(make_core: core.MakeCore) -> None:
    it = await make_core(says(Hang()))
    turn = await it.turn()
    await it.create("scout", turn)
    ids = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xyz"
    ]

    reply = await it.call("cancel_subagent_task", turn, subagent_name="SCOUT")

    assert [run_id in reply for run_id in ids] == [True] * 3
    assert reply.count("state: cancelled") == 3
    assert sorted(core.ended_ids(it.events)) == sorted(ids)


@pytest.mark.parametrize("how", ["task_id", "subagent_name"])
async def test_another_users_task_is_stopped_by_an_admin_only(
    make_core: core.MakeCore, how: str
) -> None:
    it = await make_core(host=FakeHost(says(Hang()), admins=("root",)))
    mine = await it.turn("alice")
    await it.create("scout", mine)
    run_id = core.task_id(await it.call("transfer_to_scout", mine, input="x", background_task=True))
    what: dict[str, Any] = {how: run_id if how == "task_id" else "scout"}

    refused = await it.call("cancel_subagent_task", await it.turn("bob"), **what)
    root = await it.turn("root", is_admin=True)
    stopped = await it.call("cancel_subagent_task", root, **what)

    assert refused.startswith("Error: ")
    assert "another user" in refused
    assert stopped.startswith("Stopped.")
    await it.end(root)
    assert run_id in await it.notes(await it.turn("alice"))


async def test_a_name_stops_only_what_one_may_stop(make_core: core.MakeCore) -> None:
    it = await make_core(says(Hang()))
    alice, bob = await it.turn("alice"), await it.turn("bob")
    await it.create("scout", alice)
    hers, his = [
        core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
        for turn in (alice, bob)
    ]

    reply = await it.call("cancel_subagent_task", bob, subagent_name="scout")

    assert his in reply
    assert hers not in reply
    assert core.ended_ids(it.events) == [his]


async def test_a_task_that_is_not_there_is_refused(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()

    by_id = await it.call("cancel_subagent_task", turn, task_id="nope")
    by_name = await it.call("cancel_subagent_task", turn, subagent_name="nope")

    assert by_id.startswith("Error: There is no task 'nope'.")
    assert by_name.startswith("Error: There is no sub-agent named 'nope'.")


async def test_a_session_is_ended_whole(make_core: core.MakeCore) -> None:
    it = await make_core(says(Hang()))
    turn, other = await it.turn(), await it.turn(session="other")
    for each in (turn, other):
        await it.create("scout", each)
        for task in "xy":
            await it.call("transfer_to_scout", each, input=task, background_task=True)

    await it.sessions.end_all(turn.session, StopReason.PLUGIN_OFF)

    runs = await it.store.list_runs(turn.session)
    assert [run.state for run in runs] == [RunState.CANCELLED] * 2
    assert {run.failure.message for run in runs if run.failure} == {
        "Sub-agents were switched off for this chat."
    }
    assert len((await it.open("other")).runs.live()) == 2


class StubbornHost(FakeHost):
    """A host whose children do not let go at once, and then make what they like of it."""

    def __init__(self, *, raises: Exception | None = None) -> None:
        super().__init__(says(Say(text="done all the same")))
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()
        self.raises = raises

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        try:
            self.reached.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await self.gate.wait()
        if self.raises:
            raise self.raises
        return await super().drive(request, observer)


@pytest.mark.parametrize(
    ("raises", "state"),
    [(None, RunState.COMPLETED), (RuntimeError("torn"), RunState.CANCELLED)],
)
async def test_a_child_that_lets_go_late_ends_once_and_truly(
    make_core: core.MakeCore, raises: Exception | None, state: RunState
) -> None:
    host = StubbornHost(raises=raises)
    it = await make_core(host=host)
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await host.reached.wait()
    stopping = asyncio.create_task(it.call("cancel_subagent_task", turn, task_id=run_id))
    await core.settled()
    assert not stopping.done()

    host.gate.set()
    reply = await stopping

    assert core.ended_ids(it.events) == [run_id]
    assert (await it.run(run_id)).state is state
    assert reply.startswith("Stopped.") is (state is RunState.CANCELLED)
    assert (await it.open()).runs.free_places() == 16
