"""What several processes that share a store need to know of each other: homes and orders."""

from dataclasses import replace

from astrbot_plugin_subagents.manager.models import (
    DeliveryState,
    Origin,
    RunId,
    RunState,
    SessionId,
)
from astrbot_plugin_subagents.manager.run_order import OrderKind, RunOrder
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from astrbot_plugin_subagents.manager.turn_record import TurnRecord
from support import stores
from support.stores import (
    ANN,
    CHAT,
    NOON,
    OTHER_CHAT,
    a_delivery,
    a_note,
    a_run,
    a_session,
    an_agent,
    at,
)

store = stores.any_store
empty_file = stores.empty_file

THIRD_CHAT = SessionId("telegram:GroupMessage:300")


def an_order(text: str, run_id: str = "run1", kind: OrderKind = "steer") -> RunOrder:
    """An order of a run of the chat."""
    return RunOrder(session=CHAT, run_id=RunId(run_id), kind=kind, text=text, at=NOON)


async def test_a_session_has_the_home_that_it_was_moved_to(store: Store) -> None:
    assert await store.home_of(CHAT) == ""

    assert await store.move_home(CHAT, "north", at(1)) == ""
    assert await store.move_home(CHAT, "south", at(2)) == "north"

    assert await store.home_of(CHAT) == "south"
    made = a_session(created_at=at(1), last_active_at=at(1))
    assert await store.load_session(CHAT) == made


async def test_saving_a_session_leaves_its_home_and_the_numbers_of_its_notes(store: Store) -> None:
    await store.move_home(CHAT, "north", NOON)
    await store.add_shared_entry(CHAT, a_note(5), keep=9)
    await store.delete_shared_entries(CHAT)

    await store.save_session(a_session(memory_enabled=False))

    assert await store.home_of(CHAT) == "north"
    assert (await store.add_shared_entry(CHAT, a_note(1), keep=9)).seq == 6


async def test_sessions_without_a_home_are_adopted_once(store: Store) -> None:
    await store.save_agent(CHAT, an_agent())
    await store.save_session(a_session(OTHER_CHAT))
    await store.move_home(THIRD_CHAT, "south", NOON)
    # by hand, as the documents say it: its home is gone for good
    await store.move_home(OTHER_CHAT, "gone", NOON)
    await store.move_home(OTHER_CHAT, "", NOON)

    assert await store.adopt_homeless("north") == 2
    assert await store.adopt_homeless("south") == 0

    homes = [await store.home_of(chat) for chat in (CHAT, OTHER_CHAT, THIRD_CHAT)]
    assert homes == ["north", "north", "south"]


async def test_a_home_sees_the_unfinished_runs_of_its_own_sessions(store: Store) -> None:
    mine, theirs = a_run("mine"), a_run("theirs", session=OTHER_CHAT)
    await store.add_runs([mine, theirs])
    await store.move_home(CHAT, "north", NOON)
    await store.move_home(OTHER_CHAT, "south", NOON)

    assert await store.unfinished_runs("north") == [mine]
    assert await store.unfinished_runs("south") == [theirs]
    assert await store.unfinished_runs("west") == []
    assert await store.unfinished_runs() == [mine, theirs]


async def test_a_home_sees_the_open_turns_of_its_own_sessions(store: Store) -> None:
    turns = [
        TurnRecord(turn_id=chat, session=chat, owner=ANN, origin=Origin(), began_at=NOON)
        for chat in (CHAT, OTHER_CHAT)
    ]
    for turn in turns:
        await store.begin_turn(turn)
    await store.move_home(CHAT, "north", NOON)

    assert await store.open_turns("north") == turns[:1]
    assert await store.open_turns() == turns


async def test_a_home_releases_and_finds_the_deliveries_of_its_own_sessions(store: Store) -> None:
    for chat, home in ((CHAT, "north"), (OTHER_CHAT, "south")):
        run = a_run(chat, session=chat)
        await store.add_runs([run])
        await store.move_home(chat, home, NOON)
        taken = await store.take_run(replace(run, state=RunState.RUNNING))
        assert taken is not None
        over = replace(taken, state=RunState.COMPLETED, finished_at=NOON)
        claimed = replace(a_delivery(over), state=DeliveryState.CLAIMED, taker="gone")
        await store.write_run(RunWrite(run=over, delivery=claimed))

    assert await store.pending_owners() == []
    assert await store.release_claims("process1", "north") == 1

    assert await store.pending_owners() == [(CHAT, ANN)]
    assert await store.pending_owners("north") == [(CHAT, ANN)]
    assert await store.pending_owners("south") == []
    kept = await store.load_deliveries(OTHER_CHAT, states=[DeliveryState.CLAIMED])
    assert [delivery.taker for delivery in kept] == ["gone"]


async def test_a_run_is_found_whatever_its_session(store: Store) -> None:
    run = a_run("far", session=OTHER_CHAT)
    await store.add_runs([run])

    assert await store.find_run(RunId("far")) == run
    assert await store.find_run(RunId("none")) is None


async def test_orders_are_taken_once_in_the_order_in_which_they_were_given(store: Store) -> None:
    orders = [an_order("first"), an_order("second"), an_order("user", kind="stop")]
    answer = replace(an_order("blue", "run2", kind="answer"), about="Which one?")
    for order in (orders[0], answer, *orders[1:]):
        await store.add_order(order)

    assert await store.take_orders(RunId("run1")) == orders
    assert await store.take_orders(RunId("run1")) == []
    assert await store.take_orders(RunId("run2")) == [answer]


async def test_orders_and_home_go_with_their_session(store: Store) -> None:
    await store.move_home(CHAT, "north", NOON)
    await store.add_shared_entry(CHAT, a_note(5), keep=9)
    await store.add_order(an_order("first"))

    await store.delete_session(CHAT)

    assert await store.home_of(CHAT) == ""
    assert await store.take_orders(RunId("run1")) == []
    assert await store.add_shared_entry(CHAT, a_note(1), keep=9) == a_note(1)


async def test_orders_that_nobody_took_go_with_their_old_run(store: Store) -> None:
    await store.add_runs([replace(a_run("run1"), state=RunState.CANCELLED, finished_at=NOON)])
    await store.add_order(an_order("too late"))
    times = {"events_before": NOON, "steps_before": NOON, "runs_before": at(1)}

    gone = [await store.delete_old(**times, limit=9) for _ in range(3)]

    assert sum(gone) == 2
    assert gone[-1] == 0
    assert await store.find_run(RunId("run1")) is None
    assert await store.take_orders(RunId("run1")) == []
