"""The store's contract: runs, who takes them and who finds them, on every kind of store."""

import asyncio
from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager.errors import LostRun, StoreUnavailable
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    GroupId,
    Origin,
    RunId,
    RunKind,
    RunState,
    Usage,
)
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from support import stores
from support.stores import (
    CHAT,
    NOON,
    OTHER_CHAT,
    a_run,
    a_taken_run,
    at,
)

store = stores.any_store
empty_file = stores.empty_file

OVER = (
    RunState.COMPLETED,
    RunState.FAILED,
    RunState.TIMED_OUT,
    RunState.CANCELLED,
    RunState.INTERRUPTED,
)


async def test_a_run_comes_back_as_it_was_added(store: Store) -> None:
    full = a_run(
        "full",
        kind=RunKind.TASK,
        parent=RunId("parent"),
        group_id=GroupId("group"),
        depends_on=("a", "b"),
        background=True,
        image_urls=("https://example.org/a.png",),
        origin=Origin(adapter="qq", sender_id="1", sender_name="Ann", message_type="group"),
    )
    bare = a_run("bare", agent=None)

    await store.add_runs([full, bare])

    assert await store.get_run(CHAT, full.run_id) == full
    assert await store.get_run(CHAT, bare.run_id) == bare
    assert await store.get_run(OTHER_CHAT, bare.run_id) is None
    assert await store.get_run(CHAT, RunId("unknown")) is None


async def test_runs_are_added_all_or_none(store: Store) -> None:
    await store.add_runs([])
    await store.add_runs([a_run("old")])

    with pytest.raises(StoreUnavailable):
        await store.add_runs([a_run("new"), a_run("old")])

    assert [run.run_id for run in await store.list_runs(CHAT)] == ["old"]


async def test_each_taking_raises_the_fence(store: Store) -> None:
    await store.add_runs([a_run(executor="elsewhere")])
    wanted = a_run(state=RunState.RUNNING, executor="here", started_at=at(1), input="other words")

    first = await store.take_run(wanted)
    second = await store.take_run(replace(wanted, executor="there"))

    assert first == replace(wanted, input="Look around.", fence=1)
    assert second == replace(wanted, input="Look around.", fence=2, executor="there")
    assert await store.get_run(CHAT, wanted.run_id) == second


async def test_of_many_that_take_a_run_at_once_each_gets_its_own_fence(store: Store) -> None:
    await store.add_runs([a_run()])
    wanted = a_run(state=RunState.RUNNING)

    taken = await asyncio.gather(*(store.take_run(wanted) for _ in range(8)))

    assert sorted(run.fence for run in taken if run) == list(range(1, 9))


@pytest.mark.parametrize("state", OVER)
async def test_a_run_that_is_over_is_neither_taken_nor_written(
    store: Store, state: RunState
) -> None:
    run = await a_taken_run(store)
    over = replace(run, state=state, finished_at=at(1))
    await store.write_run(RunWrite(run=over))

    assert await store.take_run(run) is None
    with pytest.raises(LostRun):
        await store.write_run(RunWrite(run=replace(run, last_text="too late")))
    assert await store.get_run(CHAT, run.run_id) == over


async def test_an_unknown_run_is_neither_taken_nor_written(store: Store) -> None:
    assert await store.take_run(a_run(state=RunState.RUNNING)) is None
    with pytest.raises(LostRun):
        await store.write_run(RunWrite(run=a_run()))


async def test_runs_of_a_session_are_listed_newest_first(store: Store) -> None:
    scout, done, later, fork = (
        a_run("scout", created_at=at(1)),
        a_run("done", agent=AgentName("SCOUT"), created_at=at(1), state=RunState.COMPLETED),
        a_run("later", agent=AgentName("Clerk"), created_at=at(2), state=RunState.WAITING),
        a_run("fork", agent=None, created_at=NOON),
    )
    await store.add_runs([later, scout, done, fork, a_run("foreign", session=OTHER_CHAT)])

    assert await store.list_runs(CHAT) == [later, done, scout, fork]
    assert await store.list_runs(CHAT, limit=2) == [later, done]
    assert await store.list_runs(CHAT, agent="sCOUT") == [done, scout]
    assert await store.list_runs(CHAT, agent="") == []
    assert await store.list_runs(CHAT, states=[RunState.WAITING, RunState.COMPLETED]) == [
        later,
        done,
    ]
    assert await store.list_runs(CHAT, states=[]) == []
    assert await store.list_runs(CHAT, states=[RunState.QUEUED], agent="scout") == [scout]


async def test_unfinished_runs_of_all_sessions_come_oldest_first(store: Store) -> None:
    runs = [a_run(state, state=state, created_at=at(-n)) for n, state in enumerate(RunState)]
    foreign = a_run("foreign", session=OTHER_CHAT)
    await store.add_runs([*runs, foreign])

    unfinished = [run.run_id for run in await store.unfinished_runs()]

    assert unfinished == [RunState.WAITING, RunState.RUNNING, RunState.QUEUED, "foreign"]


async def test_tokens_are_summed_over_a_sessions_runs_since_a_time(store: Store) -> None:
    usage = Usage(input=2_000_000_000, cached=20, output=3)
    await store.add_runs(
        [
            a_run("early", created_at=at(-1), usage=usage),
            a_run("noon", created_at=NOON, usage=usage),
            a_run("late", created_at=at(1), usage=usage, state=RunState.COMPLETED),
            a_run("foreign", session=OTHER_CHAT, usage=usage),
        ]
    )

    assert await store.tokens_used(CHAT, NOON) == 4_000_000_046
    assert await store.tokens_used(CHAT, at(2)) == 0
