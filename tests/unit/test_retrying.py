"""A finished task is done once more: as what it was, for whom it was, with their rights."""

from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager import Run, RunState
from astrbot_plugin_subagents.manager.errors import (
    AgentNotFound,
    AlreadyRunning,
    NotPermitted,
    RunNotFinished,
    RunNotFound,
)
from astrbot_plugin_subagents.manager.models import Asker, GroupId, OwnerId, RunKind, Usage
from support import core
from support.bringing import Stage, a_stage
from support.task_calls import a_fork_context, a_task, start

make_core = core.make_core
ALICE = Asker(owner=OwnerId("alice"))
ROOT = Asker(owner=OwnerId("root"), is_admin=True)


async def retry(stage: Stage, run_id: str, asker: Asker = ALICE) -> Run:
    run = await (await stage.it.open()).guiding.retry(run_id, asker)
    await core.settled()
    return run


async def a_finished(stage: Stage, task: str = "look") -> str:
    """A task that an agent has done, and whose result was brought."""
    (run_id,) = await stage.after_turn(task)
    await stage.let(task)
    assert (await stage.it.run(run_id)).is_over
    return run_id


async def test_it_is_a_new_run_with_the_same_task_of_the_same_agent(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    old_id = await a_finished(stage)
    old = await stage.it.run(old_id)
    stage.it.clock.advance(60)

    new = await retry(stage, old_id)

    assert new.run_id != old_id
    assert (new.agent, new.input, new.owner) == (old.agent, "look", "alice")
    assert (new.kind, new.conversation) == (RunKind.DELEGATE, old.conversation)
    assert (new.steps, new.usage, new.last_text, new.finished_at) == (0, Usage(), "", None)
    assert (new.background, new.created_at) == (True, stage.it.clock.now())
    assert await stage.it.run(old_id) == old
    assert [request.prompt for request in stage.it.host.requests] == ["look", "look"]
    assert [ids for _, ids in stage.messenger.ended] == [(old_id,), (new.run_id,)]


async def test_an_admins_retry_stays_the_members_with_their_rights(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    old_id = await a_finished(stage)

    new = await retry(stage, old_id, ROOT)

    assert new.owner == "alice"
    assert [request.member_rights for request in stage.it.host.requests] == [True, True]
    assert stage.messenger.begun[-1].owner == "alice"


async def test_only_its_owner_and_an_admin_retry_and_only_what_is_over(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    old_id = await a_finished(stage)
    (at_work,) = await stage.after_turn("other", agent="ben")

    with pytest.raises(NotPermitted):
        await retry(stage, old_id, Asker(owner=OwnerId("bob")))
    with pytest.raises(RunNotFinished):
        await retry(stage, at_work)
    with pytest.raises(RunNotFound):
        await retry(stage, "nothing")

    assert len(await stage.it.store.list_runs((await stage.it.open()).session)) == 2


async def test_what_is_under_way_again_is_not_done_twice_at_once(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    (stopped,) = await stage.after_turn("look")
    await (await stage.it.open()).cancel(stopped, ALICE)
    new = await retry(stage, stopped)

    with pytest.raises(AlreadyRunning) as caught:
        await retry(stage, stopped)

    assert caught.value.run_id == new.run_id


async def test_without_its_agent_it_cannot_be_done_again(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    await it.call("remove_subagent", turn, name="scout")

    with pytest.raises(AgentNotFound):
        await (await it.open()).guiding.retry(run_id, ALICE)


async def test_a_copy_and_a_fork_are_done_again_each_as_what_it_was(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    stage.it.fork_context = a_fork_context
    turn = await stage.it.turn()
    tasks = (a_task("copy", tool_filter="full"), a_task("fork", context="fork"))
    old = await start(stage.it, turn, *tasks)
    await stage.it.end(turn)
    await stage.let("copy", "fork")

    new = [await retry(stage, run.run_id) for run in old]

    assert [(run.kind, run.task) for run in new] == [(run.kind, run.task) for run in old]
    assert [str(run.conversation) for run in new] == [str(run.run_id) for run in new]
    first, second = stage.it.host.requests[:2], stage.it.host.requests[2:]
    begun = [each.fork and replace(each.fork, group_id=GroupId("")) for each in first + second]
    assert begun[:2] == begun[2:]
    assert [each.tools for each in second] == [each.tools for each in first]
    assert [(await stage.it.run(run.run_id)).state for run in new] == [RunState.COMPLETED] * 2
    brought = [run_id for _, ids in stage.messenger.ended for run_id in ids]
    assert brought == [run.run_id for run in (*old, *new)]


async def test_a_task_with_predecessors_gets_their_results_again(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    first, second = await start(stage.it, turn, a_task("a"), a_task("b", "a"))
    await stage.it.end(turn)
    await stage.let("a", "b")

    new = await retry(stage, second.run_id)

    assert new.depends_on == (first.run_id,)
    prompts = [request.prompt for request in stage.it.host.requests]
    assert prompts[1].split("\n\n")[0] == prompts[2].split("\n\n")[0]
    assert "a done" in prompts[2]
    assert (await stage.it.run(new.run_id)).state is RunState.COMPLETED
