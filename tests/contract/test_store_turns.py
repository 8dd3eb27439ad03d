"""The store's contract: turns that are under way, and the calls made in them."""

import asyncio
from dataclasses import replace
from typing import Any

from astrbot_plugin_subagents.manager.models import Origin
from astrbot_plugin_subagents.manager.store import Store
from astrbot_plugin_subagents.manager.turn_record import TurnCall, TurnRecord
from support import stores
from support.stores import ANN, BOB, CHAT, NOON, OTHER_CHAT, at

store = stores.any_store
empty_file = stores.empty_file


def a_turn(turn_id: str = "turn1", **changes: Any) -> TurnRecord:
    """A turn without calls."""
    turn = TurnRecord(
        turn_id=turn_id,
        session=CHAT,
        owner=ANN,
        origin=Origin(adapter="qq", sender_id="1", turn_id=turn_id, tools=("search",)),
        message="Look around.",
        image_urls=("https://example.org/a.png",),
        began_at=NOON,
        executor="process 1",
    )
    return replace(turn, **changes)


def a_call(tool: str = "task", **changes: Any) -> TurnCall:
    """A call of one of our tools."""
    return replace(TurnCall(tool=tool, arguments='{"a":1}', reply="Done.", at=NOON), **changes)


async def test_a_turn_is_open_with_its_calls_until_it_ends(store: Store) -> None:
    await store.begin_turn(a_turn())
    assert await store.open_turns() == [a_turn()]

    calls = (a_call("create_subagent"), a_call("task", at=at(1)), a_call("task", at=at(1)))
    for call in calls:
        await store.add_turn_call("turn1", call)
    assert await store.open_turns() == [a_turn(calls=calls)]

    await store.end_turn("turn1")
    assert await store.open_turns() == []


async def test_open_turns_are_there_after_closing_and_opening(store: Store) -> None:
    await store.begin_turn(a_turn(calls=(a_call("first"),)))
    await store.add_turn_call("turn1", a_call("second"))

    await store.close()
    await store.open()

    assert await store.open_turns() == [a_turn(calls=(a_call("first"), a_call("second")))]


async def test_turns_of_all_sessions_come_oldest_first(store: Store) -> None:
    late, zoe, amy = (
        a_turn("late", began_at=at(5)),
        a_turn("zoe", session=OTHER_CHAT, owner=BOB),
        a_turn("amy", calls=(a_call(),)),
    )
    for turn in (late, zoe, amy):
        await store.begin_turn(turn)

    assert await store.open_turns() == [zoe, amy, late]


async def test_a_turn_that_is_kept_already_stays_as_it_is(store: Store) -> None:
    await store.begin_turn(a_turn(calls=(a_call(),)))

    await store.begin_turn(a_turn(message="Other words.", calls=(a_call("other"),)))

    assert await store.open_turns() == [a_turn(calls=(a_call(),))]


async def test_calls_and_the_end_of_an_unknown_turn_are_ignored(store: Store) -> None:
    await store.begin_turn(a_turn())

    await store.add_turn_call("unknown", a_call())
    await store.end_turn("unknown")
    await store.begin_turn(a_turn("unknown", began_at=at(1)))

    assert await store.open_turns() == [a_turn(), a_turn("unknown", began_at=at(1))]


async def test_a_turn_that_ends_among_its_calls_leaves_none_of_them(store: Store) -> None:
    await store.begin_turn(a_turn())
    calls = [store.add_turn_call("turn1", a_call(f"call {n}")) for n in range(30)]
    middle = len(calls) // 2

    await asyncio.gather(*calls[:middle], store.end_turn("turn1"), *calls[middle:])
    await store.begin_turn(a_turn())

    assert await store.open_turns() == [a_turn()]


async def test_deleting_a_session_takes_its_turns_with_their_calls(store: Store) -> None:
    other = a_turn("other", session=OTHER_CHAT, calls=(a_call(),))
    for turn in (a_turn(calls=(a_call(),)), other):
        await store.begin_turn(turn)

    await store.delete_session(CHAT)
    await store.begin_turn(a_turn(began_at=at(1)))

    assert await store.open_turns() == [other, a_turn(began_at=at(1))]


async def test_a_turn_makes_no_record_of_its_session(store: Store) -> None:
    await store.begin_turn(a_turn())

    assert await store.load_session(CHAT) is None


async def test_characters_that_no_database_takes_cost_a_turn_nothing_else(store: Store) -> None:
    bad, good = "a\x00b\ud800c", "a\ufffdb\ufffdc"
    await store.begin_turn(a_turn(message=bad, origin=Origin(sender_name=bad)))
    await store.add_turn_call("turn1", a_call(arguments=bad, reply=bad))

    call = a_call(arguments=good, reply=good)
    kept = a_turn(message=good, origin=Origin(sender_name=good), calls=(call,))
    assert await store.open_turns() == [kept]
