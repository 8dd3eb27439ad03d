"""The platform's reset: a user begins anew, and nothing of theirs comes back from before."""

import pytest

from astrbot_plugin_subagents.manager import Asker, RunState, TurnEnd
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.forgetting import Forgotten
from astrbot_plugin_subagents.manager.models import DeliveryState, OwnerId
from astrbot_plugin_subagents.manager.testing import FakeHost
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from support import core
from support.asking import asking
from support.bringing import Stage
from support.task_calls import Crew

make_core = core.make_core
BOARD = "send_shared_context_for_main_agent"


async def a_group(make_core: core.MakeCore, **more: object) -> Stage:
    """A chat of two members, each with agents, memories, notes and a result that nobody had."""
    crew = Crew()
    crew.let("done")
    it = await make_core(
        host=FakeHost(crew.script, admins=("root",)),
        static=("clerk",),
        settings=core.many_agents(),
        **more,
    )
    for owner in ("alice", "bob"):
        turn = await it.turn(owner)
        for name in ("dyn", "kept"):
            await it.create(f"{name}_{owner}", turn)
            await it.call(f"transfer_to_{name}_{owner}", turn, input="done")
        await it.call("protect_subagent", turn, name=f"kept_{owner}")
        await it.call("transfer_to_clerk", turn, input="done")
        await it.call(BOARD, turn, context_type="message", content=f"Of {owner}.")
        await it.call(f"transfer_to_dyn_{owner}", turn, input="hang", background_task=True)
        await core.settled()
        await it.end(turn)
    return Stage(it=it, messenger=FakeMessenger(), crew=crew)


async def forget(stage: Stage, owner: str = "alice", **who: bool) -> Forgotten:
    asker = Asker(owner=OwnerId(owner), **who)
    return await (await stage.it.open()).forgetting.forget(asker)


async def left(stage: Stage) -> dict[str, int]:
    """The agents that are left, with the length of their memories."""
    overview = await (await stage.it.open()).overview()
    return {status.config.name: status.memory_messages for status in overview.agents}


async def notes(stage: Stage) -> list[str]:
    return [note.content for note in (await stage.it.open()).board.notes()]


async def test_a_member_forgets_what_is_their_own(make_core: core.MakeCore) -> None:
    stage = await a_group(make_core)

    forgotten = await forget(stage)

    assert forgotten == Forgotten(stopped=1, agents=1, memories=1, notes=1, results=1)
    assert await left(stage) == {"clerk": 4, "kept_alice": 0, "dyn_bob": 2, "kept_bob": 2}
    assert await notes(stage) == ["Of bob."]
    live = (await stage.it.open()).runs.live()
    assert [(run.owner, run.state) for run in live] == [("bob", RunState.RUNNING)]


async def test_an_admin_forgets_all(make_core: core.MakeCore) -> None:
    stage = await a_group(make_core)

    forgotten = await forget(stage, "root", is_admin=True)

    assert forgotten == Forgotten(stopped=2, agents=2, memories=3, notes=2, results=2)
    assert await left(stage) == {"clerk": 0, "kept_alice": 0, "kept_bob": 0}
    assert await notes(stage) == []
    assert (await stage.it.open()).runs.live() == []


async def test_who_is_alone_with_the_bot_forgets_the_memory_of_its_own_agents_too(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    crew.let("done")
    it = await make_core(host=FakeHost(crew.script), static=("clerk",))
    turn = await it.turn()
    await it.call("transfer_to_clerk", turn, input="done")
    await it.end(turn)
    stage = Stage(it=it, messenger=FakeMessenger(), crew=crew)

    assert await forget(stage) == Forgotten()
    assert await left(stage) == {"clerk": 2}
    assert await forget(stage, is_alone=True) == Forgotten(memories=1)
    assert await left(stage) == {"clerk": 0}


async def test_a_second_time_there_is_nothing_to_forget(make_core: core.MakeCore) -> None:
    stage = await a_group(make_core)
    first = await forget(stage)

    second = await forget(stage)

    assert not first.is_nothing
    assert second.is_nothing


async def test_what_was_forgotten_is_brought_by_nobody(make_core: core.MakeCore) -> None:
    stage = await asking(make_core)
    stage.messenger.is_on = False
    done, asks = await stage.after_turn("say", "ask")
    await core.settled()
    before = await stage.states()

    forgotten = await forget(stage)
    stage.messenger.is_on = True
    await stage.it.sessions.courier.start()
    await stage.pass_time(10_000)
    turn = await stage.it.turn()
    said = await stage.it.notes(turn)

    assert before == [DeliveryState.PENDING]
    assert forgotten == Forgotten(stopped=1, results=2)
    assert await stage.states() == [DeliveryState.CLOSED, DeliveryState.CLOSED]
    assert stage.messenger.begun == []
    assert done not in said
    assert asks not in said
    assert "say done" in await stage.it.call("read_subagent_result", turn, task_id=done)


async def test_what_a_turn_holds_that_the_reset_cut_off_does_not_come_back(
    make_core: core.MakeCore,
) -> None:
    stage = await asking(make_core)
    turn = await stage.it.turn()
    run_id = core.task_id(await stage.it.call("transfer_to_ann", turn, input="say"))

    forgotten = await forget(stage)
    await stage.it.end(turn, TurnEnd.LOST)
    await stage.pass_time(10_000)

    assert forgotten == Forgotten(results=1)
    assert stage.messenger.begun == []
    assert run_id not in await stage.it.notes(await stage.it.turn())


async def test_an_agent_that_works_for_another_user_stays(make_core: core.MakeCore) -> None:
    stage = await a_group(make_core)
    bob = await stage.it.turn("bob")
    await stage.it.call("transfer_to_kept_alice", bob, input="hang on", background_task=True)
    await core.settled()

    forgotten = await forget(stage)

    assert (forgotten.agents, forgotten.memories) == (1, 0)
    assert (await left(stage))["kept_alice"] == 2


async def test_a_reset_that_cannot_be_stored_leaves_the_rest_as_it_was(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    stage = await a_group(make_core, store=trouble.store)
    trouble.failing.add("delete_agent")

    with pytest.raises(StoreUnavailable):
        await forget(stage)

    assert (await left(stage))["kept_alice"] == 2
    trouble.failing.clear()
    assert (await forget(stage)).agents == 1
