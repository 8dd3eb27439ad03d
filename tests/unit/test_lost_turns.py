"""A turn that a restart cut off: its user is answered all the same, once, with all it brought."""

import json

import pytest

from astrbot_plugin_subagents.manager import TurnEnd
from astrbot_plugin_subagents.manager.fence import fenced
from astrbot_plugin_subagents.manager.messenger import Way
from support import core
from support.bringing import a_stage
from support.lost_turns import (
    ASKED,
    MESSAGE,
    ReadingMessenger,
    a_quiet_restart,
    a_turn,
    begin,
    cut_off,
    cut_off_without_work,
    killed,
    notes_of_next_turn,
    open_turns,
    read_by,
    restarted,
)

make_core = core.make_core

LATER = 10_000.0
"""Seconds after which every pause is over."""


async def test_one_wake_up_brings_message_calls_and_results_once_all_runs_are_over(
    make_core: core.MakeCore,
) -> None:
    before, _, _ = await cut_off(make_core, "one", "two")
    again = await restarted(make_core, before)

    await again.let("one")
    early = list(again.messenger.begun)
    await again.let("two")

    (read,) = read_by(again)
    assert early == []
    assert read.count(ASKED) == 1
    assert "the user has no answer yet" in read
    assert (read.count("one done"), read.count("two done")) == (1, 1)
    assert await open_turns(again) == []


async def test_what_the_turn_had_called_is_told_in_its_order_and_as_data(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    turn = await a_turn(stage)
    made = await stage.it.call("create_subagent", turn, name="dan", system_prompt="You dig.")
    stage.crew.let("dig")
    dug = await stage.it.call("transfer_to_dan", turn, input="dig")
    await killed(stage)

    again = await restarted(make_core, stage)

    (read,) = read_by(again)
    calls = (
        ("create_subagent", {"name": "dan", "system_prompt": "You dig."}, made),
        ("transfer_to_dan", {"input": "dig"}, dug),
    )
    told = [
        f"- `{tool}` {json.dumps(arguments)}\n{fenced(reply, what='reply')}"
        for tool, arguments, reply in calls
    ]
    assert "\n".join(told) in read
    assert "(data, not instructions)" in read
    assert "Calls of other tools are not known" in read


async def test_a_turn_that_had_started_nothing_is_answered_at_once(
    make_core: core.MakeCore,
) -> None:
    again = await restarted(make_core, await cut_off_without_work(make_core))

    (errand,) = again.messenger.begun
    assert (errand.way, errand.owner, errand.runs) == (Way.WAKE, "alice", ())
    assert ASKED in read_by(again)[0]


async def test_after_it_was_answered_nothing_comes_again_not_even_after_another_restart(
    make_core: core.MakeCore,
) -> None:
    before, _, _ = await cut_off(make_core, "one")
    again = await restarted(make_core, before)
    await again.let("one")
    await again.pass_time(LATER)
    assert len(read_by(again)) == 1
    await killed(again)

    last = await restarted(make_core, again, executor="process3")
    await last.pass_time(LATER)

    assert last.messenger.begun == []
    assert (await notes_of_next_turn(last))[1].count(MESSAGE) == 0


async def test_a_message_of_the_user_that_comes_first_takes_it_and_nobody_is_woken(
    make_core: core.MakeCore,
) -> None:
    before = await cut_off_without_work(make_core)
    again = await a_quiet_restart(make_core, before)

    turn, notes = await notes_of_next_turn(again)
    await again.it.end(turn)
    again.messenger.is_on = True
    await again.it.sessions.courier.start()
    await core.settled()

    assert notes.count(ASKED) == 1
    assert again.messenger.begun == []
    assert await open_turns(again) == []


async def test_while_its_runs_are_at_work_the_users_turn_is_told_of_them_and_no_more(
    make_core: core.MakeCore,
) -> None:
    before, _, (run_id,) = await cut_off(make_core, "one")
    again = await restarted(make_core, before)

    turn, notes = await notes_of_next_turn(again)
    await again.it.end(turn)
    await again.let("one")

    assert MESSAGE not in notes
    assert f"task_id: {run_id} " in notes
    assert [ASKED in read for read in read_by(again)] == [True]


async def test_nobody_but_its_user_gets_it(make_core: core.MakeCore) -> None:
    again = await a_quiet_restart(make_core, await cut_off_without_work(make_core))

    bobs, notes = await notes_of_next_turn(again, "bob")
    await again.it.end(bobs)
    other = await again.it.turn(session="other")
    elsewhere = await again.it.notes(other)

    assert (MESSAGE in notes, MESSAGE in elsewhere) == (False, False)
    assert ASKED in (await notes_of_next_turn(again))[1]


async def test_one_turn_has_it_and_a_second_one_meanwhile_does_not(
    make_core: core.MakeCore,
) -> None:
    again = await a_quiet_restart(make_core, await cut_off_without_work(make_core))

    _, first = await notes_of_next_turn(again)
    _, second = await notes_of_next_turn(again)

    assert (ASKED in first, ASKED in second) == (True, False)


@pytest.mark.parametrize(
    ("end", "comes_again"),
    [
        (TurnEnd.ANSWERED, False),
        (TurnEnd.STOPPED, True),
        (TurnEnd.LOST, True),
        (TurnEnd.LEFT, False),
    ],
)
async def test_how_the_turn_ends_that_has_it_decides_whether_it_comes_again(
    make_core: core.MakeCore, end: TurnEnd, comes_again: bool
) -> None:
    again = await a_quiet_restart(make_core, await cut_off_without_work(make_core))
    turn, _ = await notes_of_next_turn(again)

    await again.it.end(turn, end)

    assert len(await open_turns(again)) == comes_again
    assert (ASKED in (await notes_of_next_turn(again))[1]) is comes_again


async def test_several_lost_turns_of_a_user_come_together_oldest_first(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    for owner, text, agent in (("alice", "First.", "a"), ("bob", "His.", "b")):
        await stage.it.create(agent, await a_turn(stage, owner, text))
        stage.it.clock.advance(60)
    await stage.it.create("c", await a_turn(stage, "alice", "Second."))
    await killed(stage)

    again = await restarted(make_core, stage)

    hers, his = read_by(again)
    assert [errand.owner for errand in again.messenger.begun] == ["alice", "bob"]
    assert 0 < hers.index("First.") < hers.index("Second.")
    assert ("His." in hers, "His." in his, "First." in his) == (False, True, False)
    assert await open_turns(again) == []


async def test_a_lost_turn_whose_runs_are_over_does_not_wait_for_those_of_another(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    await begin(stage, await a_turn(stage, message="Look."), "one")
    await stage.it.create("dan", await a_turn(stage, message="Make."))
    await killed(stage)

    again = await restarted(make_core, stage)
    early = list(read_by(again))
    await again.let("one")

    assert [("Make." in read, "Look." in read) for read in early] == [(True, False)]
    assert [("Make." in read, "Look." in read) for read in read_by(again)[1:]] == [(False, True)]


async def test_a_wake_up_that_was_cut_off_has_no_message_and_goes_on_all_the_same(
    make_core: core.MakeCore,
) -> None:
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    await stage.it.create("dan", await a_turn(stage, message=""))
    await killed(stage)

    again = await restarted(make_core, stage)

    (read,) = read_by(again)
    assert "<<message" not in read
    assert "`create_subagent`" in read
