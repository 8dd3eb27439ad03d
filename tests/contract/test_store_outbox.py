"""The store's contract: the outbox and the board, on every kind of store."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, timezone

from astrbot_plugin_subagents.manager.models import Delivery, DeliveryState, RunState
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from support import stores
from support.stores import (
    ANN,
    BOB,
    CHAT,
    OTHER_CHAT,
    a_delivery,
    a_note,
    a_run,
    a_taken_run,
    at,
)

store = stores.any_store
empty_file = stores.empty_file

PENDING, CLAIMED, HANDED = DeliveryState.PENDING, DeliveryState.CLAIMED, DeliveryState.HANDED
ACKNOWLEDGED, CLOSED = DeliveryState.ACKNOWLEDGED, DeliveryState.CLOSED


async def put(store: Store, deliveries: Sequence[Delivery]) -> None:
    """Let a run end for each delivery."""
    for delivery in deliveries:
        run = await a_taken_run(store, f"run of {delivery.delivery_id}", session=delivery.session)
        over = replace(run, state=RunState.COMPLETED)
        await store.write_run(RunWrite(run=over, delivery=delivery))


async def everything(store: Store) -> list[Delivery]:
    """The outbox of the chat."""
    return await store.load_deliveries(CHAT, states=list(DeliveryState))


async def test_deliveries_are_loaded_by_state_oldest_first(store: Store) -> None:
    late, early, also_early = (
        a_delivery(a_run("late"), created_at=at(2)),
        a_delivery(a_run("z"), created_at=at(1)),
        a_delivery(a_run("a"), created_at=at(1), state=CLOSED),
    )
    await put(store, [late, early, also_early])

    assert await everything(store) == [early, also_early, late]
    assert await store.load_deliveries(CHAT, states=[PENDING]) == [early, late]
    assert await store.load_deliveries(CHAT, states=[]) == []


async def test_a_result_is_put_into_the_outbox_once(store: Store) -> None:
    delivery = a_delivery(a_run("group"))
    await put(store, [delivery])
    await store.update_deliveries(["group"], expected=[PENDING], state=ACKNOWLEDGED)

    again = await a_taken_run(store, "the last of the group")
    await store.write_run(RunWrite(run=again, delivery=delivery))

    assert await everything(store) == [replace(delivery, state=ACKNOWLEDGED)]


async def test_a_delivery_moves_only_from_an_expected_state(store: Store) -> None:
    deliveries = [a_delivery(a_run(name)) for name in ("a", "b", "c")]
    await put(store, deliveries)
    zone = timezone(timedelta(hours=8))

    claimed = await store.update_deliveries(
        ["c", "unknown", "a"],
        expected=[PENDING],
        state=CLAIMED,
        taker="turn 1",
        lease_until=at(5).astimezone(zone),
    )
    handed = await store.update_deliveries(
        ["a", "b"], expected=[CLAIMED], state=HANDED, taker="turn 1"
    )
    nothing = await store.update_deliveries([], expected=[PENDING], state=CLOSED)

    assert (claimed, handed, nothing) == (["c", "a"], ["a"], [])
    a, b, c = deliveries
    assert await everything(store) == [
        replace(a, state=HANDED, taker="turn 1", attempts=1),
        b,
        replace(c, state=CLAIMED, taker="turn 1", lease_until=at(5), attempts=1),
    ]


async def test_of_many_that_claim_a_result_one_gets_it(store: Store) -> None:
    await put(store, [a_delivery(a_run(name)) for name in ("a", "b")])

    claims = await asyncio.gather(
        *(
            store.update_deliveries(ids, expected=[PENDING], state=CLAIMED, taker=f"turn {n}")
            for n, ids in enumerate([["a", "b"], ["b", "a"]] * 8)
        )
    )

    assert sorted(delivery_id for claim in claims for delivery_id in claim) == ["a", "b"]
    assert [delivery.attempts for delivery in await everything(store)] == [1, 1]


async def test_releasing_claims_puts_back_what_nobody_acknowledged(store: Store) -> None:
    states = {
        name: replace(a_delivery(a_run(name)), state=DeliveryState(name), taker="t")
        for name in DeliveryState
    }
    leased = replace(states[CLAIMED], lease_until=at(1), attempts=3)
    foreign = replace(states[HANDED], delivery_id="foreign", session=OTHER_CHAT)
    await put(store, [*{**states, CLAIMED: leased}.values(), foreign])

    assert await store.release_claims("process1") == 3
    assert await store.release_claims("process1") == 0

    assert await everything(store) == [
        states[PENDING],
        replace(leased, state=PENDING, taker="", lease_until=None),
        replace(states[HANDED], state=PENDING, taker=""),
        states[ACKNOWLEDGED],
        states[CLOSED],
    ]


async def test_owners_with_waiting_results_are_named_once_each(store: Store) -> None:
    await put(
        store,
        [
            a_delivery(a_run("1"), owner=BOB),
            a_delivery(a_run("2"), owner=ANN),
            a_delivery(a_run("3"), owner=BOB),
            a_delivery(a_run("4", session=OTHER_CHAT), owner=BOB),
            a_delivery(a_run("5"), owner=ANN, state=HANDED),
        ],
    )

    assert await store.pending_owners() == [(CHAT, BOB), (CHAT, ANN), (OTHER_CHAT, BOB)]


async def test_the_board_keeps_its_newest_notes(store: Store) -> None:
    notes = [a_note(seq, at=at(seq), target="Clerk", kind="status") for seq in range(1, 8)]
    for note in notes:
        await store.add_shared_entry(CHAT, note, keep=5)
    await store.add_shared_entry(OTHER_CHAT, a_note(1), keep=5)

    assert await store.load_shared_entries(CHAT) == notes[2:]

    await store.add_shared_entry(CHAT, a_note(8), keep=2)
    assert await store.load_shared_entries(CHAT) == [notes[6], a_note(8)]
    assert await store.load_shared_entries(OTHER_CHAT) == [a_note(1)]

    await store.add_shared_entry(CHAT, a_note(9), keep=0)
    assert await store.load_shared_entries(CHAT) == []


async def test_a_note_whose_number_is_taken_gets_the_next_one(store: Store) -> None:
    await store.add_shared_entry(CHAT, a_note(3), keep=5)

    second = await store.add_shared_entry(CHAT, a_note(3, content="another"), keep=5)

    assert second == a_note(4, content="another")
    assert await store.load_shared_entries(CHAT) == [a_note(3), second]


async def test_the_numbers_of_notes_do_not_go_back_when_the_board_is_cleared(store: Store) -> None:
    await store.add_shared_entry(CHAT, a_note(7), keep=5)
    await store.delete_shared_entries(CHAT)

    assert await store.add_shared_entry(CHAT, a_note(1), keep=5) == a_note(8, content="Note 1.")
    assert await store.add_shared_entry(OTHER_CHAT, a_note(1), keep=5) == a_note(1)


async def test_one_senders_notes_are_cleared_without_regard_to_case(store: Store) -> None:
    for seq, sender in enumerate(("Scout", "Clerk", "SCOUT"), start=1):
        await store.add_shared_entry(CHAT, a_note(seq, sender=sender), keep=9)

    assert await store.delete_shared_entries(CHAT, sender="scout") == 2
    assert await store.load_shared_entries(CHAT) == [a_note(2, sender="Clerk")]
    assert await store.delete_shared_entries(CHAT) == 1
    assert await store.load_shared_entries(CHAT) == []


async def test_what_this_process_was_handed_is_read_and_what_another_was_is_not(
    store: Store,
) -> None:
    mine, theirs = (
        replace(a_delivery(a_run(name)), state=HANDED, taker=name) for name in ("mine", "theirs")
    )
    await put(store, [mine, theirs])

    assert await store.release_claims("mine") == 1

    assert await everything(store) == [
        replace(mine, state=DeliveryState.ACKNOWLEDGED, taker=""),
        replace(theirs, state=PENDING, taker=""),
    ]
