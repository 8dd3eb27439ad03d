"""The store's contract: what is old goes, in batches, and nothing that is needed goes with it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest

from astrbot_plugin_subagents.manager.fork_context import ForkContext
from astrbot_plugin_subagents.manager.models import (
    ConversationId,
    DeliveryState,
    GroupId,
    Run,
    RunState,
)
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from support import stores
from support.stores import (
    CHAT,
    NOON,
    a_delivery,
    a_message,
    a_run,
    a_step,
    a_taken_run,
    an_agent,
    at,
)

store = stores.any_store
empty_file = stores.empty_file

NEVER = at(-1e6)
GROUP = GroupId("group")
ONE_OF_EACH = {"steps": 1, "events": 1, "messages": 1}
ALL = {**ONE_OF_EACH, "run": 1, "deliveries": 1}
NOTHING = dict.fromkeys(ALL, 0)


async def let_go(
    store: Store,
    *,
    events: datetime = NEVER,
    steps: datetime = NEVER,
    runs: datetime = NEVER,
    limit: int = 100,
) -> list[int]:
    """Delete until nothing goes any more; how many rows went each time."""
    gone: list[int] = []
    while not gone or gone[-1]:
        assert len(gone) < 100
        gone.append(
            await store.delete_old(
                events_before=events, steps_before=steps, runs_before=runs, limit=limit
            )
        )
    return gone[:-1]


async def a_finished_run(
    store: Store,
    run_id: str,
    *,
    delivery: DeliveryState | None = DeliveryState.ACKNOWLEDGED,
    finished: datetime = NOON,
    rows: Mapping[str, int] = ONE_OF_EACH,
    **changes: object,
) -> Run:
    """A run that is over, with so many steps, events and messages, and a delivery."""
    run = await a_taken_run(store, run_id, **changes)
    result = None if delivery is None else a_delivery(run, state=delivery)
    over = replace(run, state=RunState.COMPLETED, finished_at=finished)
    await store.write_run(
        RunWrite(
            run=over,
            steps=[a_step(run, f"{n}.call") for n in range(rows["steps"])],
            messages=[a_message(run, n + 1) for n in range(rows["messages"])],
            delivery=result,
        )
    )
    await store.add_events([an_event(over) for _ in range(rows["events"])])
    return over


def an_event(run: Run, at: datetime = NOON) -> StoredEvent:
    return StoredEvent(session=run.session, run_id=run.run_id, kind="run", payload={}, at=at)


async def left_of(store: Store, run: Run) -> dict[str, int]:
    """How much is there of a run."""
    deliveries = await store.load_deliveries(CHAT, states=list(DeliveryState))
    return {
        "run": int(await store.get_run(CHAT, run.run_id) is not None),
        "steps": len(await store.run_steps(run.run_id)),
        "events": len(await store.events_after(0, run_id=run.run_id)),
        "messages": len(await store.load_messages(run.conversation, newest=999)),
        "deliveries": sum(each.delivery_id == run.run_id for each in deliveries),
    }


async def test_events_from_before_a_time_go(store: Store) -> None:
    run = await a_taken_run(store)
    await store.add_events([an_event(run, at(minutes)) for minutes in (-2, 3, -1, 0)])

    assert await let_go(store, events=NOON) == [2]

    assert [event.at for event in await store.events_after(0)] == [at(3), NOON]


async def test_journals_of_runs_that_finished_before_a_time_go(store: Store) -> None:
    old = await a_finished_run(store, "old", finished=at(-1))
    new = await a_finished_run(store, "new", finished=NOON)
    running = await a_taken_run(store, "running", created_at=at(-9))
    await store.write_run(RunWrite(run=running, steps=[a_step(running, at=at(-9))]))

    assert await let_go(store, steps=NOON) == [1]

    assert await left_of(store, old) == {**ALL, "steps": 0}
    assert await left_of(store, new) == ALL
    assert len(await store.run_steps(running.run_id)) == 1


async def test_a_finished_run_goes_with_all_that_hangs_on_it(store: Store) -> None:
    old = await a_finished_run(store, "old", finished=at(-1), agent=None)
    new = await a_finished_run(store, "new", finished=NOON, agent=None)
    running = await a_taken_run(store, "running", created_at=at(-9))

    assert await let_go(store, runs=NOON) == [5]

    assert await left_of(store, old) == NOTHING
    assert await left_of(store, new) == ALL
    assert await store.count_messages([old.conversation]) == {}
    assert await store.unfinished_runs() == [running]


@pytest.mark.parametrize("closed", [DeliveryState.ACKNOWLEDGED, DeliveryState.CLOSED, None])
async def test_a_run_goes_when_its_result_is_through(
    store: Store, closed: DeliveryState | None
) -> None:
    run = await a_finished_run(store, "old", delivery=closed, agent=None)

    await let_go(store, runs=at(1))

    assert await left_of(store, run) == NOTHING


@pytest.mark.parametrize(
    "still_open", [DeliveryState.PENDING, DeliveryState.CLAIMED, DeliveryState.HANDED]
)
async def test_a_run_stays_while_its_result_is_on_its_way(
    store: Store, still_open: DeliveryState
) -> None:
    run = await a_finished_run(store, "old", delivery=still_open, agent=None)
    other = await a_finished_run(store, "other", finished=at(0.5), agent=None)

    await let_go(store, runs=at(1), limit=1)

    assert await left_of(store, run) == ALL
    assert await left_of(store, other) == NOTHING


async def test_the_memory_of_an_agent_outlives_its_runs(store: Store) -> None:
    memory = an_agent().conversation
    run = await a_finished_run(store, "old", conversation=memory)

    assert await let_go(store, runs=at(1)) == [4]

    assert await left_of(store, run) == {**NOTHING, "messages": 1}


async def test_what_another_run_said_in_a_conversation_stays(store: Store) -> None:
    talk = ConversationId("talk")
    await a_finished_run(store, "old", agent=None, conversation=talk)
    running = await a_taken_run(store, "running", agent=None, conversation=talk)
    await store.write_run(RunWrite(run=running, messages=[a_message(running, 2)]))

    await let_go(store, runs=at(1))

    assert await store.load_messages(talk, newest=9) == [a_message(running, 2)]


async def test_each_call_takes_no_more_of_a_table_than_its_limit(store: Store) -> None:
    runs = [
        await a_finished_run(
            store, f"old{n}", finished=at(n), agent=None, rows=dict.fromkeys(ONE_OF_EACH, 3)
        )
        for n in range(3)
    ]
    await store.add_events([an_event(runs[0], at(-5)) for _ in range(4)])

    gone = await let_go(store, events=at(-1), runs=at(9), limit=2)

    assert sum(gone) == 3 * (1 + 3 + 3 + 3 + 1) + 4
    assert max(gone) <= 2 * 5
    assert len(gone) > 5
    assert [await left_of(store, run) for run in runs] == [NOTHING] * 3


@pytest.mark.parametrize("many", ["steps", "events", "messages"])
async def test_a_run_is_there_as_long_as_anything_of_it_is(store: Store, many: str) -> None:
    run = await a_finished_run(store, "old", agent=None, delivery=None, rows={**NOTHING, many: 5})

    await store.delete_old(events_before=NEVER, steps_before=NEVER, runs_before=at(1), limit=3)

    assert await left_of(store, run) == {**NOTHING, "run": 1, many: 2}


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.WAITING])
async def test_a_run_that_is_not_over_stays_whatever_its_times_say(
    store: Store, state: RunState
) -> None:
    run = a_run(state=state, created_at=at(-9), finished_at=at(-8))
    await store.add_runs([run])
    await store.write_run(RunWrite(run=run, steps=[a_step(run)]))

    assert await let_go(store, steps=NOON, runs=NOON) == []


async def test_what_forks_begin_with_goes_with_the_last_run_of_its_group(store: Store) -> None:
    fork = ForkContext(
        group_id=GROUP, session=CHAT, messages=(), tools=(), provider_id="one", created_at=NOON
    )
    first = await a_finished_run(store, "first", finished=at(-2), group_id=GROUP)
    second = await a_finished_run(store, "second", finished=at(2), group_id=GROUP)
    await store.add_runs([], fork=fork)

    await let_go(store, runs=NOON)
    assert await store.get_run(CHAT, first.run_id) is None
    assert await store.fork_context(CHAT, GROUP) == fork

    await let_go(store, runs=at(3))
    assert await store.get_run(CHAT, second.run_id) is None
    assert await store.fork_context(CHAT, GROUP) is None
