"""What happened to agents and runs is kept, in batches, and nobody waits for it."""

import logging

import pytest

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.testing import Say, Use, says
from support import core

make_core = core.make_core

LONG_TEXT = "x" * 5_000


async def kept(it: core.Core) -> list[StoredEvent]:
    """Everything that the store has, in its order."""
    return await it.store.events_after(0, limit=100_000)


async def a_run(it: core.Core) -> str:
    """A run with one tool call, from its start to its end."""
    turn = await it.turn()
    await it.create("scout", turn)
    return core.task_id(await it.call("transfer_to_scout", turn, input="look"))


async def test_a_run_is_kept_step_by_step_with_its_id(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search", text="I look."), Say(text=LONG_TEXT)))
    run_id = await a_run(it)

    before = await kept(it)
    it.clock.advance(2)
    await core.settled()

    events = await kept(it)
    assert before == []
    assert [event.kind for event in events] == [
        "agent.created",
        "run.changed",
        "agent.changed",
        "model.called",
        "tool.started",
        "tool.finished",
        "model.called",
        "run.changed",
    ]
    assert {event.run_id for event in events if not event.kind.startswith("agent.")} == {run_id}
    assert events[-1].payload["state"] == "completed"
    assert events[-2].payload["text"] == LONG_TEXT[:1_000]


async def test_what_has_gathered_is_written_when_all_is_closed(make_core: core.MakeCore) -> None:
    it = await make_core(says(Say(text="done")))
    await a_run(it)

    await it.sessions.close()

    await it.store.open()
    assert [event.kind for event in await kept(it)][-1] == "run.changed"


async def test_many_events_do_not_wait_for_the_time_to_pass(make_core: core.MakeCore) -> None:
    uses = [Use(tool="search", arguments=f'{{"page": {n}}}') for n in range(40)]
    it = await make_core(says(*uses, Say(text="done")), settings=Settings(max_steps=99))
    await a_run(it)
    await core.settled()

    assert len(await kept(it)) >= 50


async def test_events_that_the_store_does_not_take_are_written_later(
    make_core: core.MakeCore, caplog: pytest.LogCaptureFixture
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Say(text="done")), store=trouble.store)
    trouble.failing.add("add_events")
    await a_run(it)
    with caplog.at_level(logging.ERROR):
        it.clock.advance(2)
        await core.settled()
    trouble.failing.clear()

    await it.sessions.close()

    await it.store.open()
    assert "could not be kept yet" in caplog.text
    assert next(event.kind for event in await kept(it)) == "agent.created"


async def test_while_somebody_follows_events_are_written_soon_and_told_of(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Say(text="done")))
    turn = await it.turn()
    told: list[list[str]] = []
    unfollow = it.sessions.events.follow(lambda events: told.append([e.kind for e in events]))

    await it.create("scout", turn)
    it.clock.advance(0.1)
    await core.settled()
    while_following = [event.kind for event in await kept(it)]
    unfollow()
    unfollow()
    await it.create("writer", turn)
    it.clock.advance(1.9)
    await core.settled()

    assert told == [["agent.created"]]
    assert while_following == ["agent.created"]
    assert len(await kept(it)) == 1


async def test_what_came_while_a_write_took_long_is_written_without_anything_more(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Say(text="done")), store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("add_events")
    it.clock.advance(2)
    await hold.reached.wait()

    await it.create("writer", turn)
    it.clock.advance(2)
    await core.settled()
    del trouble.holds["add_events"]
    hold.gate.set()
    await core.settled()
    it.clock.advance(2)
    await core.settled()

    names = [event.payload["name"] for event in await kept(it)]
    assert names == ["scout", "writer"]


async def test_what_the_store_did_not_take_is_tried_again_by_itself(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Say(text="done")), store=trouble.store)
    trouble.failing.add("add_events")
    await it.create("scout", await it.turn())
    it.clock.advance(2)
    await core.settled()
    trouble.failing.clear()

    it.clock.advance(2)
    await core.settled()

    assert [event.kind for event in await kept(it)] == ["agent.created"]
