"""The courier in trouble: what brought nothing is tried again, later and later, and then told."""

import asyncio
from datetime import timedelta

import pytest

from astrbot_plugin_subagents.manager import Settings, TurnEnd
from astrbot_plugin_subagents.manager.messenger import Errand, Way
from astrbot_plugin_subagents.manager.models import DeliveryState, Run, RunId, SessionId
from astrbot_plugin_subagents.manager.settings import DeliverySettings
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.store.rows import DamagedRow
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from support import core
from support.bringing import Stage, a_stage

make_core = core.make_core
DONE = DeliveryState.ACKNOWLEDGED
RELAY = Settings(delivery=DeliverySettings(mode="relay"))


class BrokenMessenger(FakeMessenger):
    """A messenger that raises as many times as a test says."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.wake`."""
        if self.times:
            self.times -= 1
            raise RuntimeError("the platform fell over")
        return await super().wake(errand)


@pytest.mark.parametrize("end", [TurnEnd.LOST, None], ids=["the turn is lost", "there is no turn"])
async def test_a_wake_up_that_fails_is_tried_again_later_and_later_and_then_told(
    make_core: core.MakeCore, end: TurnEnd | None
) -> None:
    settings = Settings(delivery=DeliverySettings(max_attempts=5))
    stage = await a_stage(make_core, settings=settings)
    stage.messenger.end = end
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")

    for pause in (5, 30, 120, 600):
        begun = len(stage.messenger.begun)
        await stage.pass_time(pause - 1)
        assert len(stage.messenger.begun) == begun
        await stage.pass_time(1)

    assert stage.ways == ["wake"] * 5 + ["tell"]
    assert stage.messenger.sent == [(Way.TELL, (run_id,))]
    assert [(row.state, row.attempts) for row in await stage.rows()] == [(DONE, 6)]
    await stage.pass_time(100_000)
    assert len(stage.messenger.begun) == 6


async def test_a_message_that_does_not_go_out_is_sent_later(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core, settings=RELAY)
    stage.messenger.sends = False
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    await stage.pass_time(5)
    tried = list(stage.ways)

    stage.messenger.sends = True
    await stage.pass_time(30)

    assert tried == ["tell", "tell"]
    assert stage.messenger.sent == [(Way.TELL, (run_id,))]
    assert await stage.states() == [DONE]


async def test_one_that_cannot_be_sent_makes_no_other_come_again(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core, settings=RELAY)
    gate = stage.messenger.gates[Way.TELL] = asyncio.Event()
    zero, first, second = await stage.after_turn("zero", "one", "two")
    stage.messenger.unsendable.add(RunId(first))
    await stage.let("zero")
    await stage.let("one", "two")
    gate.set()
    await core.settled()
    await stage.pass_time(5)

    assert [errand.runs[0].run_id for errand in stage.messenger.begun] == [zero, first, first]
    assert stage.messenger.sent == [(Way.TELL, (zero,)), (Way.TELL, (second,))]
    assert await stage.states() == [DONE, DeliveryState.CLAIMED, DONE]


async def test_what_no_message_can_bring_is_left_to_the_next_turn(make_core: core.MakeCore) -> None:
    settings = Settings(delivery=DeliverySettings(max_attempts=2))
    stage = await a_stage(make_core, settings=settings)
    stage.messenger.end, stage.messenger.sends = None, False
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    for _ in range(10):
        await stage.pass_time(600)
    tried = list(stage.ways)
    later = await again(make_core, stage, "process2")
    await later.it.sessions.courier.start()
    await core.settled()

    assert tried == ["wake", "wake", "tell", "tell"]
    assert later.ways == []
    assert f"task_id: {run_id}\n" in await later.it.notes(await later.it.turn())


async def test_while_nobody_can_be_woken_no_attempt_is_used_up(make_core: core.MakeCore) -> None:
    settings = Settings(delivery=DeliverySettings(max_attempts=1))
    stage = await a_stage(make_core, settings=settings)
    stage.messenger.can_be_woken = False
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    for _ in range(3):
        await stage.pass_time(600)
    before = list(stage.messenger.begun), [row.attempts for row in await stage.rows()]

    stage.messenger.can_be_woken = True
    await stage.pass_time(600)

    assert before == ([], [0])
    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]


async def test_a_turn_takes_what_a_message_failed_to_bring(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core, settings=RELAY)
    stage.messenger.sends = False
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")

    turn = await stage.it.turn()
    notes = await stage.it.notes(turn)
    await stage.it.end(turn)
    stage.messenger.sends = True
    await stage.pass_time(10_000)

    assert f"task_id: {run_id}\n" in notes
    assert stage.messenger.sent == []


async def test_a_pause_is_for_what_failed_and_not_for_what_comes_after_it(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core)
    stage.messenger.end = TurnEnd.LOST
    first, second = await stage.after_turn("one", "two")
    await stage.let("one")
    for pause in (5, 30, 120):
        await stage.pass_time(pause)
    turn = await stage.it.turn()
    assert f"task_id: {first}\n" in await stage.it.notes(turn)
    await stage.it.end(turn)
    stage.messenger.end = TurnEnd.ANSWERED

    await stage.let("two")

    assert stage.messenger.ended[-1] == (TurnEnd.ANSWERED, (second,))


async def test_whatever_the_messenger_raises_is_tried_again(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core, messenger=BrokenMessenger(times=2))
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    await stage.pass_time(5)
    assert stage.messenger.begun == []

    await stage.pass_time(30)

    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]


@pytest.mark.parametrize(
    ("method", "rows"),
    # an end that is written late needs no row for a result that was brought meanwhile
    [("update_deliveries", [DONE]), ("write_run", [])],
)
async def test_a_store_that_fails_for_a_while_loses_and_doubles_nothing(
    make_core: core.MakeCore, method: str, rows: list[DeliveryState]
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, store=trouble.store)
    (run_id,) = await stage.after_turn("look")
    trouble.failing.add(method)
    await stage.let("look")
    await stage.pass_time(5)

    trouble.failing.clear()
    await stage.pass_time(30)

    assert stage.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]
    assert await stage.states() == rows
    await stage.pass_time(10_000)
    assert len(stage.messenger.begun) == 1


async def test_a_store_that_cannot_be_read_for_a_while_is_looked_at_again(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, store=trouble.store)
    stage.messenger.is_on = False
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    later = await again(make_core, stage, "process2")
    trouble.failing.add("get_run")
    await later.it.sessions.courier.start()
    await core.settled()
    trouble.failing.clear()

    await later.pass_time(5)

    assert later.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]


async def test_a_message_whose_acknowledgement_is_not_stored_is_not_sent_again(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, store=trouble.store, settings=RELAY)
    gate = stage.messenger.gates[Way.TELL] = asyncio.Event()
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    trouble.failing.add("update_deliveries")
    gate.set()
    await core.settled()
    before = await stage.states()

    trouble.failing.clear()
    await stage.pass_time(1_000)

    assert before == [DeliveryState.CLAIMED]
    assert stage.messenger.sent == [(Way.TELL, (run_id,))]
    assert await stage.states() == [DONE]


async def again(make_core: core.MakeCore, stage: Stage, executor: str) -> Stage:
    """The bot after a reload or a restart."""
    await stage.it.sessions.close()
    await stage.it.store.open()
    return await a_stage(
        make_core,
        crew=stage.crew,
        store=stage.it.store,
        clock=stage.it.clock,
        executor=executor,
        settings=stage.it.services.settings(),
    )


@pytest.mark.parametrize("executor", ["process1", "process2"])
async def test_what_waits_from_before_is_brought_once_the_chat_can_be_reached(
    make_core: core.MakeCore, executor: str
) -> None:
    stage = await a_stage(make_core)
    stage.messenger.is_on = False
    first, second = await stage.after_turn("one", "two")
    await stage.let("one")
    later = await again(make_core, stage, executor)
    later.messenger.is_on = False
    await later.let("two")
    before = list(later.messenger.begun)

    later.messenger.is_on = True
    await later.it.sessions.courier.start()
    await core.settled()

    assert before == []
    assert later.messenger.ended == [(TurnEnd.ANSWERED, (first, second))]
    assert await later.states() == [DONE, DONE]


@pytest.mark.parametrize("executor", ["process1", "process2"])
async def test_a_wake_up_that_a_shutdown_breaks_off_is_made_again_and_counted(
    make_core: core.MakeCore, executor: str
) -> None:
    stage = await a_stage(make_core)
    stage.messenger.turn_gate = asyncio.Event()
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    later = await again(make_core, stage, executor)
    counted = [row.attempts for row in await later.rows()]

    await later.it.sessions.courier.start()
    await core.settled()

    assert stage.messenger.ended == []
    assert counted == [1]
    assert later.messenger.ended == [(TurnEnd.ANSWERED, (run_id,))]
    assert [(row.state, row.attempts) for row in await later.rows()] == [(DONE, 2)]


async def test_attempts_are_counted_over_restarts_so_that_in_the_end_it_is_told(
    make_core: core.MakeCore,
) -> None:
    settings = Settings(delivery=DeliverySettings(max_attempts=3))
    stage = await a_stage(make_core, settings=settings)
    stage.messenger.end = TurnEnd.LOST
    (run_id,) = await stage.after_turn("look")
    await stage.let("look")
    for number in range(2):
        stage = await again(make_core, stage, f"process{number + 2}")
        stage.messenger.end = TurnEnd.LOST
        await stage.it.sessions.courier.start()
        await core.settled()

    assert stage.ways == ["wake", "tell"]
    assert stage.messenger.sent == [(Way.TELL, (run_id,))]


async def test_nothing_is_begun_once_the_plugin_is_being_stopped(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core)
    await stage.after_turn("look")
    courier = stage.it.sessions.courier
    await stage.it.sessions.close()

    courier.look(SessionId("chat"))
    await stage.let("look")

    assert stage.messenger.begun == []


class DamagedStore(MemoryStore):
    """A store in which the rows of some runs cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: set[str] = set()

    async def get_run(self, session: SessionId, run_id: RunId) -> Run | None:
        """See `Store.get_run`."""
        if run_id in self.damaged:
            raise DamagedRow("a stored run is damaged")
        return await super().get_run(session, run_id)


async def test_a_damaged_row_is_set_aside_and_the_others_come(make_core: core.MakeCore) -> None:
    store = DamagedStore()
    stage = await a_stage(make_core, store=store)
    stage.messenger.is_on = False
    damaged, sound = await stage.after_turn("one", "two")
    await stage.let("one", "two")
    store.damaged.add(damaged)
    later = await again(make_core, stage, "process2")

    await later.it.sessions.courier.start()
    await later.pass_time(timedelta(days=1).total_seconds())

    assert later.messenger.ended == [(TurnEnd.ANSWERED, (sound,))]
    assert later.ways == ["wake"]
