"""The store's contract: events, for those who come later."""

import asyncio
from dataclasses import replace
from typing import Any

from astrbot_plugin_subagents.manager.models import RunId, SessionId
from astrbot_plugin_subagents.manager.store import Store
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from support import stores
from support.stores import CHAT, NOON, OTHER_CHAT, at

store = stores.any_store
empty_file = stores.empty_file


def an_event(kind: str = "run_changed", **changes: Any) -> StoredEvent:
    """An event of a run."""
    event = StoredEvent(
        session=CHAT, run_id=RunId("run1"), kind=kind, payload={"state": "running"}, at=NOON
    )
    return replace(event, **changes)


def kinds(events: list[StoredEvent]) -> list[str]:
    return [event.kind for event in events]


async def test_events_come_back_as_they_were_with_ids_that_rise(store: Store) -> None:
    payload = {"z": [1, 2.5, None, True], "a": {"text": "слово 字 😀"}}
    events = [an_event(payload=payload), an_event("note", run_id=None, payload={}, at=at(-9))]

    await store.add_events(events)
    await store.add_events([])
    await store.add_events([an_event("last", session=OTHER_CHAT)])

    found = await store.events_after(0)
    ids = [event.event_id for event in found]
    expected = [*events, an_event("last", session=OTHER_CHAT)]
    assert [replace(event, event_id=0) for event in found] == expected
    assert list(found[0].payload) == ["z", "a"]
    assert 0 < ids[0] < ids[1] < ids[2] == await store.last_event_id()


async def test_a_reader_goes_on_from_where_it_was(store: Store) -> None:
    assert await store.last_event_id() == 0
    assert await store.events_after(0) == []
    await store.add_events([an_event(str(n)) for n in range(5)])

    first = await store.events_after(0, limit=2)
    rest = await store.events_after(first[-1].event_id)

    assert kinds(first) == ["0", "1"]
    assert kinds(rest) == ["2", "3", "4"]
    assert await store.events_after(rest[-1].event_id) == []


async def test_events_of_one_session_or_one_run_are_found_alone(store: Store) -> None:
    other_run = RunId("run2")
    await store.add_events(
        [
            an_event("a"),
            an_event("b", session=OTHER_CHAT, run_id=other_run),
            an_event("c", run_id=None),
            an_event("d", run_id=other_run),
        ]
    )

    assert kinds(await store.events_after(0, session=CHAT)) == ["a", "c", "d"]
    assert kinds(await store.events_after(0, run_id=other_run)) == ["b", "d"]
    assert kinds(await store.events_after(0, session=CHAT, run_id=other_run)) == ["d"]
    assert await store.events_after(0, session=SessionId("unknown")) == []


async def test_an_id_is_never_given_twice(store: Store) -> None:
    await store.add_events([an_event("old")])
    old = await store.last_event_id()

    await store.delete_session(CHAT)
    assert await store.last_event_id() == 0
    await store.add_events([an_event("new")])

    assert kinds(await store.events_after(old)) == ["new"]


async def test_deleting_a_session_takes_its_events_and_no_others(store: Store) -> None:
    await store.add_events([an_event("mine"), an_event("theirs", session=OTHER_CHAT)])

    await store.delete_session(CHAT)

    assert kinds(await store.events_after(0)) == ["theirs"]


async def test_a_reader_beside_many_writers_misses_nothing(store: Store) -> None:
    writers = 8
    writing = [
        asyncio.create_task(store.add_events([an_event(f"{n}.{each}") for each in range(50)]))
        for n in range(writers)
    ]
    seen: list[StoredEvent] = []
    async with asyncio.timeout(20):
        while len(seen) < writers * 50:
            last = seen[-1].event_id if seen else 0
            seen += await store.events_after(last)
            if all(task.done() for task in writing) and last == await store.last_event_id():
                break
            await asyncio.sleep(0)
    await asyncio.gather(*writing)

    assert len(set(kinds(seen))) == writers * 50


async def test_characters_that_no_database_takes_cost_an_event_nothing_else(
    store: Store,
) -> None:
    bad, good = "a\x00b\ud800c", "a\ufffdb\ufffdc"
    await store.add_events([an_event(bad, payload={bad: [bad, float("nan")]})])

    [event] = await store.events_after(0)
    assert (event.kind, event.payload) == (good, {good: [good, None]})
