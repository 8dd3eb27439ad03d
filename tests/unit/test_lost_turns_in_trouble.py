"""Lost turns in trouble: answers that fail, chats that are off, stores that do not work, age."""

import asyncio
from datetime import timedelta

import pytest

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.errors import StoreError
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.models import Asker, OwnerId, SessionId
from astrbot_plugin_subagents.manager.settings import DeliverySettings
from support import core
from support.bringing import a_stage
from support.lost_turns import (
    ASKED,
    MESSAGE,
    ReadingMessenger,
    a_quiet_restart,
    a_turn,
    begin,
    cut_off_without_work,
    killed,
    notes_of_next_turn,
    open_turns,
    read_by,
    restarted,
    restarted_in_vain,
)

make_core = core.make_core

CHAT = SessionId("chat")
LATER = 10_000.0
"""Seconds after which every pause is over."""


async def test_wake_ups_without_an_answer_are_given_up_and_a_message_still_brings_it(
    make_core: core.MakeCore,
) -> None:
    settings = Settings(delivery=DeliverySettings(max_attempts=3))
    again = await a_quiet_restart(make_core, await cut_off_without_work(make_core))
    await killed(again)
    last = await restarted_in_vain(make_core, again, settings)

    for _ in range(5):
        await last.pass_time(LATER)
    begun = len(last.messenger.begun)
    _, notes = await notes_of_next_turn(last)

    assert begun == 3
    assert ASKED in notes


async def test_between_two_tries_there_is_a_pause(make_core: core.MakeCore) -> None:
    before = await cut_off_without_work(make_core)
    again = await restarted_in_vain(make_core, before, Settings())

    await again.pass_time(4)
    early = len(again.messenger.begun)
    await again.pass_time(1)

    assert (early, len(again.messenger.begun)) == (1, 2)


async def test_a_wake_up_that_loses_to_a_message_of_the_user_is_not_begun(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, messenger=ReadingMessenger(), store=trouble.store)
    await stage.it.create("dan", await a_turn(stage))
    await killed(stage)
    claim = trouble.hold("update_deliveries")
    again = await restarted(make_core, stage)
    await claim.reached.wait()

    turn, notes = await notes_of_next_turn(again)
    trouble.holds.clear()
    await again.it.end(turn)
    claim.gate.set()
    await again.pass_time(LATER)

    assert ASKED in notes
    assert again.messenger.begun == []


async def test_where_results_are_told_as_they_are_a_lost_turn_is_still_answered_with_its_own(
    make_core: core.MakeCore,
) -> None:
    relay = Settings(delivery=DeliverySettings(mode="relay"))
    stage = await a_stage(make_core, messenger=ReadingMessenger(), settings=relay)
    (other,) = await stage.after_turn("other", agent="cat")
    await begin(stage, await a_turn(stage), "one")
    await killed(stage)
    again = await restarted(make_core, stage, settings=relay)

    await again.let("other")
    await again.let("one")

    assert again.messenger.sent == [(Way.TELL, (other,))]
    (read,) = read_by(again)
    assert (ASKED in read, "one done" in read, "other done" in read) == (True, True, False)


async def test_where_the_plugin_is_off_it_waits_until_it_is_on(make_core: core.MakeCore) -> None:
    again = await a_quiet_restart(make_core, await cut_off_without_work(make_core))
    again.messenger.is_on = True
    again.messenger.off.add(CHAT)
    await again.it.sessions.courier.start()
    await core.settled()
    begun = list(again.messenger.begun)

    again.messenger.off.clear()
    await again.it.sessions.courier.start()
    again.it.sessions.courier.look(CHAT)
    await core.settled()

    assert begun == []
    assert [ASKED in read for read in read_by(again)] == [True]


@pytest.mark.parametrize("why", ["reload", "too old", "not resumed"])
async def test_what_is_not_to_be_taken_up_is_let_go(make_core: core.MakeCore, why: str) -> None:
    before = await cut_off_without_work(make_core)
    before.it.clock.advance(timedelta(days=1).total_seconds() + (why == "too old"))

    again = await restarted(
        make_core,
        before,
        executor="process1" if why == "reload" else "process2",
        settings=Settings(resume_on_restart=why != "not resumed"),
    )

    assert again.messenger.begun == []
    assert await open_turns(again) == []
    assert MESSAGE not in (await notes_of_next_turn(again))[1]


async def test_a_turn_as_old_as_may_be_is_answered(make_core: core.MakeCore) -> None:
    before = await cut_off_without_work(make_core)
    before.it.clock.advance(timedelta(days=1).total_seconds())

    again = await restarted(make_core, before)

    assert [ASKED in read for read in read_by(again)] == [True]


async def test_what_a_reset_takes_away_does_not_come_back(make_core: core.MakeCore) -> None:
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    await stage.it.create("dan", await a_turn(stage))
    await stage.it.create("eve", await a_turn(stage, "bob", "His."))
    await killed(stage)
    again = await a_quiet_restart(make_core, stage)
    manager = await again.it.open()

    await manager.forgetting.forget(Asker(owner=OwnerId("alice")))
    left = [record.owner for record in await open_turns(again)]
    await manager.forgetting.forget(Asker(owner=OwnerId("root"), is_admin=True))

    assert left == ["bob"]
    assert await open_turns(again) == []
    for owner in ("alice", "bob"):
        assert "restarted" not in (await notes_of_next_turn(again, owner))[1]


async def test_an_answer_that_the_store_does_not_take_is_stored_at_the_next_end(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, messenger=ReadingMessenger(), store=trouble.store)
    await stage.it.create("dan", await a_turn(stage))
    await killed(stage)
    again = await a_quiet_restart(make_core, stage)
    turn, _ = await notes_of_next_turn(again)
    trouble.failing.add("end_turn")

    await again.it.end(turn)
    second, notes = await notes_of_next_turn(again)
    trouble.failing.clear()
    await again.it.end(second)

    assert MESSAGE not in notes
    assert await open_turns(again) == []


async def test_when_lost_turns_cannot_be_read_the_start_fails_and_the_next_brings_them(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_stage(make_core, messenger=ReadingMessenger(), store=trouble.store)
    await stage.it.create("dan", await a_turn(stage))
    await killed(stage)
    trouble.failing.add("open_turns")
    with pytest.raises(StoreError):
        await restarted(make_core, stage)
    trouble.failing.clear()

    again = await restarted(make_core, stage)

    assert [ASKED in read for read in read_by(again)] == [True]


async def test_a_session_with_a_lost_turn_stays_in_memory_until_it_is_answered(
    make_core: core.MakeCore,
) -> None:
    again = await a_quiet_restart(make_core, await cut_off_without_work(make_core))
    manager = await again.it.open()

    before = manager.is_idle()
    turn, _ = await notes_of_next_turn(again)
    await again.it.end(turn)

    assert (before, manager.is_idle()) == (False, True)


async def test_a_turn_that_is_cut_off_while_it_waits_is_answered_with_what_it_waited_for(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    turn = await a_turn(stage)
    working = asyncio.create_task(stage.it.call("transfer_to_ann", turn, input="one"))
    await stage.crew.at_work("one")
    await killed(stage)
    await working
    again = await restarted(make_core, stage)

    await again.let("one")

    (read,) = read_by(again)
    assert ASKED in read
    assert "one done" in read
