"""A task that is done once more has a group of its own, builds on what is newest, and is one."""

import pytest

from astrbot_plugin_subagents.manager import NewTask, Run, RunState, Settings
from astrbot_plugin_subagents.manager.errors import (
    AlreadyRunning,
    LimitReached,
    PredecessorMissing,
)
from astrbot_plugin_subagents.manager.models import Asker, OwnerId
from support import core
from support.bringing import Stage, a_stage
from support.task_calls import Crew, a_fork_context, a_task, start

make_core = core.make_core
ALICE = Asker(owner=OwnerId("alice"))


async def retry(stage: Stage, run: Run) -> Run:
    new = await (await stage.it.open()).guiding.retry(run.run_id, ALICE)
    await core.settled()
    return new


async def stopped_group(stage: Stage, *tasks: dict[str, object]) -> list[Run]:
    """Tasks of one call, all of them stopped before they brought anything."""
    turn = await stage.it.turn()
    runs = await start(stage.it, turn, *tasks)
    manager = await stage.it.open()
    await manager.cancel(str(runs[0].group_id), ALICE)
    await stage.it.end(turn)
    await core.settled()
    return runs


async def test_the_results_of_the_old_group_do_not_wait_for_it(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    a, b = await stopped_group(stage, a_task("a"), a_task("b"))

    new = await retry(stage, a)
    turn = await stage.it.turn()
    manager = await stage.it.open()
    collected = await manager.collect(turn)
    outcome = await manager.wait([str(a.group_id)], turn, timeout_seconds=5)

    assert not (await stage.it.run(new.run_id)).is_over
    assert [run.run_id for run in collected] == [a.run_id, b.run_id]
    assert {run.run_id for run in outcome.finished} == {a.run_id, b.run_id}
    assert (outcome.unfinished, new.parent) == ((), a.run_id)


async def test_a_fork_is_repeated_twice_each_time_with_what_it_began_with(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    stage.it.fork_context = a_fork_context
    (old,) = await stopped_group(stage, a_task("f", context="fork"))
    await stage.let("f")

    first = await retry(stage, old)
    second = await retry(stage, first)

    forks = [request.fork for request in stage.it.host.requests if request.fork]
    assert [fork.messages for fork in forks[-2:]] == [forks[0].messages] * 2
    assert len({old.group_id, first.group_id, second.group_id}) == 3
    assert second.parent == old.run_id


async def test_it_builds_on_the_newest_completed_run_of_its_predecessor(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    a, b = await stopped_group(stage, a_task("a"), a_task("b", "a"))
    await stage.let("a", "b")

    with pytest.raises(PredecessorMissing) as caught:
        await retry(stage, b)
    assert (caught.value.label, caught.value.first) == ("a", a.run_id)

    await retry(stage, a)
    newest = await retry(stage, a)
    again = await retry(stage, b)

    assert again.depends_on == (newest.run_id,)
    assert (await stage.it.run(again.run_id)).state is RunState.COMPLETED
    assert "a done" in stage.it.host.requests[-1].prompt


async def test_what_is_being_repeated_is_not_repeated_beside_it(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    (old,) = await stopped_group(stage, a_task("a"))
    (twin,) = await stopped_group(stage, a_task("a"))
    new = await retry(stage, old)

    for each in (old, twin):
        with pytest.raises(AlreadyRunning) as caught:
            await retry(stage, each)
        assert caught.value.run_id == new.run_id


async def test_only_so_many_are_repeated_at_once_by_one_user(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core, settings=Settings(starts_per_turn=2))
    old = []
    for name in "abc":
        old += await stopped_group(stage, a_task(name))
    await retry(stage, old[0])
    await retry(stage, old[1])

    with pytest.raises(LimitReached):
        await retry(stage, old[2])
    await stage.let("a")

    assert not (await retry(stage, old[2])).is_over


async def test_a_named_agents_task_is_not_given_twice_but_twins_of_one_call_are(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    stage = await a_stage(make_core, crew=crew)
    turn = await stage.it.turn()
    manager = await stage.it.open()
    twins = [NewTask(task="look", agent="ann"), NewTask(task="look", agent="ann")]
    await manager.start_tasks(twins, turn, background=True)

    with pytest.raises(AlreadyRunning):
        await manager.start_tasks([NewTask(task=" look ", agent="Ann")], turn, background=True)

    assert (len(manager.runs.live()), turn.starts) == (2, 2)
