"""The courier: what no turn of its owner takes is brought, once, by a turn or a message."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import Settings, StopReason, TurnEnd
from astrbot_plugin_subagents.manager.messenger import Silent, Way
from astrbot_plugin_subagents.manager.models import (
    Asker,
    DeliveryState,
    OwnerId,
    Run,
    RunId,
    RunState,
    SessionId,
)
from astrbot_plugin_subagents.manager.settings import DeliverySettings
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from support import core
from support.bringing import a_stage
from support.task_calls import a_task, start

make_core = core.make_core
DONE = DeliveryState.ACKNOWLEDGED


async def test_a_result_that_comes_after_the_turn_wakes_its_owners_agent_once(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await stage.after_turn("look")

    await stage.let("look")

    (errand,) = stage.messenger.begun
    assert (errand.way, errand.session, errand.owner) == (Way.WAKE, "chat", "alice")
    assert [(run.run_id, run.state) for run in errand.runs] == [(run_id, RunState.COMPLETED)]
    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]
    assert stage.messenger.filed == []
    assert await stage.states() == [DONE]
    assert run_id not in await stage.it.notes(await stage.it.turn())


async def test_while_a_turn_of_the_owner_is_open_nobody_is_woken_and_then_once_for_all(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    ids = await stage.begin(turn, "one", "two")
    await stage.let("one", "two")
    during = list(stage.messenger.begun)

    await stage.it.end(turn)
    await core.settled()

    assert during == []
    assert stage.messenger.ended == [(TurnEnd.ANSWERED, tuple(ids))]
    assert await stage.states() == [DONE, DONE]


async def test_what_the_turn_took_itself_wakes_nobody(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    ids = await stage.begin(turn, "one", "two")
    await stage.let("one", "two")

    await stage.it.call("wait_for_subagent", turn, task_id=ids)
    await stage.it.end(turn)
    await core.settled()

    assert stage.messenger.begun == []
    assert await stage.states() == [DONE, DONE]


async def test_another_users_turn_holds_nothing_up(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    (hers,) = await stage.after_turn("hers")
    his_turn = await stage.it.turn("bob")
    (his,) = await stage.begin(his_turn, "his", agent="ben")

    await stage.let("hers", "his")

    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (hers,))]
    await stage.it.end(his_turn)
    await core.settled()
    assert stage.messenger.ended[1:] == [(TurnEnd.ANSWERED, (his,))]
    assert [errand.owner for errand in stage.messenger.begun] == ["alice", "bob"]


async def test_a_chat_is_never_woken_twice_at_once_and_chats_do_not_wait_for_each_other(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    gate = stage.messenger.turn_gate = asyncio.Event()
    ids = [
        *await stage.after_turn("a"),
        *await stage.after_turn("b", owner="bob", agent="ben"),
        *await stage.after_turn("c", agent="cat"),
    ]
    elsewhere = await stage.it.turn(session="other")
    (other,) = await stage.begin(elsewhere, "o")
    await stage.it.end(elsewhere)

    await stage.let("a", "b", "c", "o")
    at_once = [(errand.session, errand.owner) for errand in stage.messenger.under_way]
    gate.set()
    await core.settled()

    assert sorted(at_once) == [("chat", "alice"), ("other", "alice")]
    assert stage.messenger.most_at_once == 1
    brought = [run_id for _, run_ids in stage.messenger.ended for run_id in run_ids]
    assert sorted(brought) == sorted([*ids, other])
    assert await stage.states() == [DONE] * 3


async def test_what_ends_while_a_wake_up_is_under_way_gets_one_of_its_own_after_it(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    gate = stage.messenger.turn_gate = asyncio.Event()
    first, second = await stage.after_turn("one", "two")
    await stage.let("one")

    await stage.let("two")
    begun = len(stage.messenger.begun)
    gate.set()
    await core.settled()

    assert begun == 1
    assert [ids for _, ids in stage.messenger.ended] == [(first,), (second,)]


async def test_a_group_comes_once_all_of_it_is_over(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    runs = await start(stage.it, turn, a_task("x"), a_task("y"), a_task("z", "x"))
    await stage.it.end(turn)

    await stage.let("x", "z")
    before = list(stage.messenger.begun)
    await stage.let("y")

    assert before == []
    (errand,) = stage.messenger.begun
    assert {run.run_id for run in errand.runs} == {run.run_id for run in runs}


async def test_a_message_of_the_user_that_comes_first_takes_the_result(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, store=trouble.store)
    (run_id,) = await stage.after_turn("look")
    claim = trouble.hold("update_deliveries")
    await stage.let("look")
    await claim.reached.wait()

    turn = await stage.it.turn()
    notes = await stage.it.notes(turn)
    claim.gate.set()
    await core.settled()

    assert f"task_id: {run_id}\n" in notes
    await stage.it.end(turn)
    await core.settled()
    assert stage.messenger.begun == []
    assert await stage.states() == [DONE]


async def test_a_wake_up_that_loses_to_a_message_of_the_user_is_not_tried_again(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    stage.messenger.gates[Way.WAKE] = asyncio.Event()
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")

    turn = await stage.it.turn()
    assert f"task_id: {run_id}\n" in await stage.it.notes(turn)
    stage.messenger.gates[Way.WAKE].set()
    await core.settled()
    await stage.it.end(turn)
    await stage.pass_time(10_000)

    assert stage.ways == ["wake"]
    assert stage.messenger.ended == [(TurnEnd.ANSWERED, ())]
    assert await stage.states() == [DONE]


@pytest.mark.parametrize("how", ["relay", "off"])
async def test_results_are_told_as_they_are_where_nobody_is_to_be_woken(
    make_core: core.MakeCore, how: str
) -> None:
    mode = DeliverySettings(mode="relay" if how == "relay" else "wake")
    stage = await a_stage(make_core, settings=Settings(delivery=mode))
    ids = await stage.after_turn("one", "two")
    if how == "off":
        stage.messenger.off.add(SessionId("chat"))

    await stage.let("one")
    await stage.let("two")

    assert stage.messenger.sent == [(Way.TELL, (ids[0],)), (Way.TELL, (ids[1],))]
    assert stage.ways == ["tell", "tell"]
    assert await stage.states() == [DONE, DONE]


async def test_where_the_plugin_was_switched_off_what_it_stopped_is_told(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    (run_id,) = await stage.after_turn("look")
    stage.messenger.off.add(SessionId("chat"))

    await stage.it.sessions.end_all(SessionId("chat"), StopReason.PLUGIN_OFF)
    await core.settled()

    assert stage.messenger.sent == [(Way.TELL, (run_id,))]


async def test_a_message_under_way_is_not_taken_by_a_turn_that_begins_meanwhile(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, settings=Settings(delivery=DeliverySettings(mode="relay")))
    gate = stage.messenger.gates[Way.TELL] = asyncio.Event()
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")

    idle = (await stage.it.open()).is_idle()
    turn = await stage.it.turn()
    notes = await stage.it.notes(turn)
    gate.set()
    await core.settled()
    await stage.it.end(turn)

    assert f"task_id: {run_id}\n" not in notes
    assert not idle
    assert stage.messenger.sent == [(Way.TELL, (run_id,))]
    assert await stage.states() == [DONE]


@pytest.mark.parametrize("by", ["user", "turn"])
async def test_what_was_stopped_wakes_nobody_and_comes_with_the_next_turn(
    make_core: core.MakeCore, by: str
) -> None:
    stage = await a_stage(make_core)
    turn = await stage.it.turn()
    (run_id,) = await stage.begin(turn, "look")
    if by == "user":
        await stage.it.end(turn)
        manager = await stage.it.open()
        await manager.stopping.stop_all_of(turn.asker, StopReason.USER)
    else:
        await stage.it.call("cancel_subagent_task", turn, task_id=run_id)
        await stage.it.end(turn, TurnEnd.LOST)
    await stage.pass_time(10_000)

    assert stage.messenger.begun == []
    assert f"task_id: {run_id}\n" in await stage.it.notes(await stage.it.turn())


async def test_what_was_stopped_comes_along_with_what_wakes(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    stopped, done = await stage.after_turn("stop", "look")
    alice = Asker(owner=OwnerId("alice"))
    await (await stage.it.open()).stopping.stop(stopped, alice, StopReason.USER)

    await stage.let("look")

    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (stopped, done))]


async def test_many_that_were_stopped_hide_nothing(make_core: core.MakeCore) -> None:
    settings = core.many_agents(starts_per_turn=99)
    stage = await a_stage(make_core, settings=settings)
    stopped = await stage.after_turn(*(f"stop {number}" for number in range(60)))
    turn = await stage.it.turn()
    manager = await stage.it.open()
    await manager.stopping.stop_all_of(turn.asker, StopReason.USER)
    (run_id,) = await stage.begin(turn, "look", agent="ben")
    await stage.it.end(turn)

    await stage.let("look")

    brought = [each for _, ids in stage.messenger.ended for each in ids]
    assert brought == [*stopped, run_id]


class ForgetfulStore(MemoryStore):
    """A store from which retention has deleted a run, but not its result."""

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[str] = set()

    async def get_run(self, session: SessionId, run_id: RunId) -> Run | None:
        """See `Store.get_run`."""
        return None if run_id in self.gone else await super().get_run(session, run_id)


async def test_a_result_whose_run_was_deleted_holds_up_no_other(make_core: core.MakeCore) -> None:
    store = ForgetfulStore()
    stage = await a_stage(make_core, store=store)
    stage.messenger.is_on = False
    gone, stays = await stage.after_turn("one", "two")
    await stage.let("one", "two")
    await stage.it.sessions.close()
    await store.open()
    store.gone.add(gone)
    again = await a_stage(make_core, store=store, clock=stage.it.clock)

    await again.it.sessions.courier.start()
    await core.settled()

    assert again.messenger.ended == [(TurnEnd.ANSWERED, (stays,))]
    assert await again.states() == [DeliveryState.CLOSED, DONE]


async def test_silence_brings_nothing_and_all_waits_for_the_next_turn(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, messenger=None)
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    errands = (await stage.it.open()).errands
    (errand,) = await errands.due(Settings(), is_off=False)
    silent = Silent()

    assert not silent.is_on
    assert not await silent.is_off_for(errand.session)
    assert not await silent.can_wake(errand)
    assert await silent.wake(errand) == ()
    assert await silent.tell(errand) == ()
    assert await silent.files(errand) == ()
    assert not await silent.ask(errand)
    assert f"task_id: {run_id}\n" in await stage.it.notes(await stage.it.turn())


def test_the_fake_does_what_the_port_asks_for() -> None:
    port = {name for name in vars(Silent) if not name.startswith("_")}

    assert port <= set(dir(FakeMessenger()))
