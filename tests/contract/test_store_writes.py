"""The store's contract: what a run writes, whole or not at all, on every kind of store."""

import asyncio
from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager.errors import LostRun, StoreUnavailable
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    Artifact,
    DeliveryState,
    Failure,
    RunState,
    StepState,
    ToolUse,
    Usage,
)
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from support import stores
from support.stores import (
    BOB,
    CHAT,
    a_delivery,
    a_message,
    a_step,
    a_taken_run,
    at,
)

store = stores.any_store
empty_file = stores.empty_file


async def test_who_lost_a_run_to_another_writes_nothing_of_it(store: Store) -> None:
    mine = await a_taken_run(store)
    theirs = await store.take_run(replace(mine, executor="process 2"))

    with pytest.raises(LostRun) as lost:
        await store.write_run(
            RunWrite(
                run=replace(mine, state=RunState.COMPLETED, last_text="mine"),
                steps=[a_step(mine)],
                messages=[a_message(mine, 1)],
                delivery=a_delivery(mine),
            )
        )

    assert lost.value.run_id == mine.run_id
    assert await store.get_run(CHAT, mine.run_id) == theirs
    assert await store.run_steps(mine.run_id) == []
    assert await store.last_seq(mine.conversation) == 0
    assert await store.load_deliveries(CHAT, states=list(DeliveryState)) == []


async def test_a_moment_of_a_run_is_written_as_a_whole(store: Store) -> None:
    run = await a_taken_run(store)
    ended = replace(
        run,
        state=RunState.FAILED,
        finished_at=at(3),
        model="some-model",
        steps=2,
        usage=Usage(input=3_000_000_000, cached=2, output=1),
        tools_given=4,
        tools_used=(ToolUse(name="search", calls=2, errors=1), ToolUse(name="read", calls=1)),
        last_text="So far.",
        artifacts=(Artifact(kind="image", path="/x/a.png", name="a.png"),),
        question="Which one?",
        cut_short="step_limit",
        failure=Failure(code="provider_error", message="It said no."),
    )
    step, messages = a_step(run), [a_message(run, 1), a_message(run, 2)]

    await store.write_run(
        RunWrite(run=ended, steps=[step], messages=messages, delivery=a_delivery(run))
    )

    assert await store.get_run(CHAT, run.run_id) == ended
    assert await store.run_steps(run.run_id) == [step]
    assert await store.load_messages(run.conversation, newest=9) == messages
    assert await store.load_deliveries(CHAT, states=list(DeliveryState)) == [a_delivery(run)]


async def test_what_a_run_was_asked_is_written_once(store: Store) -> None:
    run = await a_taken_run(store)

    await store.write_run(
        RunWrite(run=replace(run, input="other", owner=BOB, agent=AgentName("X"), steps=1))
    )

    assert await store.get_run(CHAT, run.run_id) == replace(run, steps=1)


async def test_a_step_is_replaced_by_its_key_and_keeps_its_place(store: Store) -> None:
    run = await a_taken_run(store)
    first = a_step(run, "1.a", state=StepState.INTENT, arguments='{"q": 1}')
    second = a_step(run, "1.b", state=StepState.INTENT)
    done = replace(first, state=StepState.DONE, output="found", is_error=True, at=at(1))

    await store.write_run(RunWrite(run=run, steps=[first, second]))
    await store.write_run(RunWrite(run=run, steps=[done, a_step(run, "2.a")]))

    assert await store.run_steps(run.run_id) == [done, second, a_step(run, "2.a")]


async def test_a_message_number_belongs_to_one_run_and_a_clash_writes_nothing(
    store: Store,
) -> None:
    first = await a_taken_run(store, "first")
    second = await a_taken_run(store, "second", conversation=first.conversation)
    await store.write_run(RunWrite(run=first, messages=[a_message(first, 1)]))

    with pytest.raises(StoreUnavailable):
        await store.write_run(
            RunWrite(
                run=replace(second, steps=7),
                steps=[a_step(second)],
                messages=[a_message(second, 2), a_message(second, 1)],
            )
        )

    assert await store.get_run(CHAT, second.run_id) == second
    assert await store.run_steps(second.run_id) == []
    assert await store.load_messages(first.conversation, newest=9) == [a_message(first, 1)]


async def test_a_write_that_is_repeated_changes_nothing(store: Store) -> None:
    run = await a_taken_run(store)
    write = RunWrite(
        run=replace(run, steps=1),
        steps=[a_step(run)],
        messages=[a_message(run, 1), a_message(run, 2)],
        delivery=a_delivery(run),
    )

    await store.write_run(write)
    await store.write_run(write)

    assert await store.get_run(CHAT, run.run_id) == write.run
    assert await store.run_steps(run.run_id) == write.steps
    assert await store.load_messages(run.conversation, newest=9) == write.messages
    assert await store.load_deliveries(CHAT, states=list(DeliveryState)) == [write.delivery]


async def test_runs_side_by_side_each_keep_their_messages_without_gaps(store: Store) -> None:
    runs = [await a_taken_run(store, f"run{n}") for n in range(12)]

    async def work(number: int) -> None:
        run = runs[number]
        for seq in range(1, 11, 2):
            messages = [a_message(run, seq), a_message(run, seq + 1)]
            await store.write_run(RunWrite(run=replace(run, steps=seq), messages=messages))

    await asyncio.gather(*(work(number) for number in range(12)))

    for run in runs:
        stored = await store.load_messages(run.conversation, newest=99)
        assert [message.seq for message in stored] == list(range(1, 11))


async def test_a_write_that_fails_takes_no_other_along(store: Store) -> None:
    runs = [await a_taken_run(store, f"run{n}") for n in range(12)]
    await store.take_run(runs[5])
    taken_place = a_message(runs[7], 1, run_id=runs[0].run_id)
    await store.write_run(RunWrite(run=runs[0], messages=[taken_place]))

    outcomes = await asyncio.gather(
        *(store.write_run(RunWrite(run=run, messages=[a_message(run, 1)])) for run in runs),
        return_exceptions=True,
    )

    failed = {number: type(error) for number, error in enumerate(outcomes) if error}
    assert failed == {5: LostRun, 7: StoreUnavailable}
    written = await store.count_messages([run.conversation for run in runs])
    assert written == {run.conversation: 1 for run in runs if run is not runs[5]}
    assert await store.load_messages(runs[7].conversation, newest=9) == [taken_place]


async def test_a_cancelled_writer_leaves_the_store_usable_at_whatever_point(store: Store) -> None:
    runs = [await a_taken_run(store, f"run{n}") for n in range(60)]

    async def work(number: int) -> None:
        run = runs[number]
        await store.last_seq(run.conversation)
        await store.write_run(RunWrite(run=run, steps=[a_step(run)], messages=[a_message(run, 1)]))
        await store.load_messages(run.conversation, newest=9)

    for number in range(0, 60, 3):
        working = [asyncio.create_task(work(n)) for n in range(number, number + 3)]
        for _ in range(number):
            await asyncio.sleep(0)
        working[1].cancel()
        async with asyncio.timeout(5):
            await asyncio.wait(working)
        assert working[0].exception() is None
        assert working[2].exception() is None

    for run in runs:
        stored = await store.last_seq(run.conversation)
        assert len(await store.run_steps(run.run_id)) == stored
