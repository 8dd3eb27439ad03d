"""The store's contract: runs of one call of `task`, and what its forks begin with."""

from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.fork_context import ForkContext
from astrbot_plugin_subagents.manager.models import GroupId, RunId, RunKind, RunState
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from astrbot_plugin_subagents.manager.task_shape import AgentType, TaskShape
from support import stores
from support.stores import BOB, CHAT, NOON, OTHER_CHAT, a_run, a_session, a_taken_run, at

store = stores.any_store
empty_file = stores.empty_file

GROUP = GroupId("group")

FORK = ForkContext(
    group_id=GROUP,
    session=CHAT,
    messages=(
        {"role": "system", "content": "You are a helper."},
        {"role": "user", "content": [{"type": "text", "text": "слово 字 😀", "b": 1, "a": None}]},
    ),
    tools=({"name": "task", "parameters": {"type": "object", "properties": {}}},),
    provider_id="openai/one",
    model="big",
    created_at=NOON,
)

SHAPE = TaskShape(
    label="read", position=2, agent_type=AgentType.PLAN, tool_filter="readonly", max_steps=7
)


async def test_a_task_comes_back_with_its_shape_and_its_predecessors(store: Store) -> None:
    full = a_run("full", kind=RunKind.TASK, group_id=GROUP, depends_on=(RunId("a"),), task=SHAPE)
    bare = a_run("bare", agent=None, task=TaskShape(label="1", position=0))
    none = a_run("none")

    await store.add_runs([full, bare, none])

    for run in (full, bare, none):
        assert await store.get_run(CHAT, run.run_id) == run


async def test_the_shape_of_a_task_is_left_as_it_was_asked_for(store: Store) -> None:
    run = await a_taken_run(store, task=SHAPE)

    await store.write_run(RunWrite(run=replace(run, task=None, state=RunState.COMPLETED)))

    [stored] = await store.list_runs(CHAT)
    assert (stored.task, stored.state) == (SHAPE, RunState.COMPLETED)


async def test_what_forks_begin_with_comes_back_with_its_keys_in_order(store: Store) -> None:
    await store.add_runs([a_run(group_id=GROUP, kind=RunKind.FORK)], fork=FORK)

    found = await store.fork_context(CHAT, GROUP)

    assert found == FORK
    assert list(found.messages[1]["content"][0]) == ["type", "text", "b", "a"]
    assert await store.fork_context(OTHER_CHAT, GROUP) is None
    assert await store.fork_context(CHAT, GroupId("unknown")) is None


async def test_runs_and_what_they_begin_with_are_added_together_or_not_at_all(
    store: Store,
) -> None:
    other = replace(FORK, group_id=GroupId("other"))
    await store.add_runs([a_run("old", group_id=GROUP)], fork=FORK)

    with pytest.raises(StoreUnavailable):
        await store.add_runs([a_run("new"), a_run("old")], fork=other)
    with pytest.raises(StoreUnavailable):
        await store.add_runs([a_run("new")], fork=replace(FORK, model="small"))

    assert [run.run_id for run in await store.list_runs(CHAT)] == ["old"]
    assert await store.fork_context(CHAT, other.group_id) is None
    assert await store.fork_context(CHAT, GROUP) == FORK


async def test_a_refused_call_makes_no_record_of_its_session(store: Store) -> None:
    await store.add_runs([a_run("old")])

    with pytest.raises(StoreUnavailable):
        await store.add_runs([a_run("new", session=OTHER_CHAT), a_run("old")], fork=FORK)

    assert await store.load_session(OTHER_CHAT) is None


async def test_characters_that_no_database_takes_cost_a_fork_nothing_else(store: Store) -> None:
    bad, good = "a\x00b\ud800c", "a\ufffdb\ufffdc"
    fork = replace(FORK, messages=({"role": "user", "content": bad},), model=bad)
    await store.add_runs([a_run(task=TaskShape(label=bad, position=0))], fork=fork)

    [run] = await store.list_runs(CHAT)
    expected = replace(FORK, messages=({"role": "user", "content": good},), model=good)
    assert await store.fork_context(CHAT, GROUP) == expected
    assert run.task == TaskShape(label=good, position=0)


async def test_runs_of_a_group_are_listed_newest_first(store: Store) -> None:
    first, second = a_run("first", group_id=GROUP), a_run("second", group_id=GROUP, owner=BOB)
    done = a_run("done", group_id=GROUP, created_at=at(1), state=RunState.COMPLETED)
    await store.add_runs([first, second, done, a_run("single")])
    await store.add_runs([a_run("else", group_id=GroupId("else"), created_at=at(2))])
    await store.add_runs([a_run("foreign", group_id=GROUP, session=OTHER_CHAT)])

    assert await store.list_runs(CHAT, group=GROUP) == [done, second, first]
    assert await store.list_runs(CHAT, group=GROUP, limit=1) == [done]
    assert await store.list_runs(CHAT, group=GROUP, states=[RunState.QUEUED]) == [second, first]
    assert await store.list_runs(CHAT, group=GroupId("unknown")) == []


async def test_deleting_a_session_takes_what_its_forks_begin_with(store: Store) -> None:
    foreign = replace(FORK, group_id=GroupId("foreign"), session=OTHER_CHAT)
    await store.save_session(a_session())
    await store.add_runs([a_run(group_id=GROUP)], fork=FORK)
    await store.add_runs([a_run("foreign", session=OTHER_CHAT)], fork=foreign)

    await store.delete_session(CHAT)

    assert await store.fork_context(CHAT, GROUP) is None
    assert await store.fork_context(OTHER_CHAT, foreign.group_id) == foreign
