"""Steering: a text to a run is seen by its child before the next model call, and kept."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings
from astrbot_plugin_subagents.manager.errors import (
    InvalidArgument,
    NotPermitted,
    RunAlreadyFinished,
    RunNotFound,
)
from astrbot_plugin_subagents.manager.models import Asker, OwnerId
from astrbot_plugin_subagents.manager.testing import Act, Hang, Say, Use, says
from support import core

make_core = core.make_core
ALICE = Asker(owner=OwnerId("alice"))
INTRO = "Message from your principal; follow it:"


async def at_work(
    make_core: core.MakeCore, *acts: Act, settings: Settings | None = None
) -> tuple[core.Core, str]:
    """A run of a static agent that has begun."""
    it = await make_core(says(*acts), static=("scout",), settings=settings)
    turn = await it.turn()
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await core.settled()
    return it, run_id


async def steer(it: core.Core, run_id: str, text: str, asker: Asker = ALICE) -> None:
    await (await it.open()).guiding.steer(run_id, text, asker)


async def words(it: core.Core) -> list[object]:
    """What was said in the conversation of the agent, as it is stored."""
    (config,) = (await it.open()).agents()
    return [body.get("content") for body in await it.stored_messages(config)]


async def test_a_child_is_told_before_its_next_model_call_and_the_text_is_kept(
    make_core: core.MakeCore,
) -> None:
    tool = asyncio.Event()
    it, run_id = await at_work(make_core, Use(tool="search", gate=tool), Say(text="done"))

    await steer(it, run_id, "Only the north.")
    await steer(it, run_id, "And be quick.")
    tool.set()
    await it.until_over(run_id)

    told = f"{INTRO}\nOnly the north.\nAnd be quick."
    assert [plan.instruction for plan in it.host.plans] == ["", told]
    assert await words(it) == ["x", None, "ok", told, "done"]


async def test_a_text_that_comes_after_the_last_call_has_begun_makes_the_child_go_on(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(static=("scout",))
    manager = await it.open()

    def steer_at_the_answer(event: object) -> None:
        if getattr(event, "kind", "") == "model.called" and getattr(event, "text", "") == "first":
            manager.runs.steer(event.run_id, "Once more.")  # type: ignore[attr-defined] # a model call

    it.services.bus.subscribe(steer_at_the_answer)
    it.host.script = says(Say(text="first"), Say(text="second"))

    reply = await it.call("transfer_to_scout", await it.turn(), input="x")

    assert "\nsecond\n" in reply
    assert await words(it) == ["x", "first", f"{INTRO}\nOnce more.", "second"]


async def test_what_comes_once_the_child_has_answered_or_makes_its_last_call_is_refused(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it, run_id = await at_work(make_core, hang, Say(text="done"), settings=Settings(max_steps=1))

    with pytest.raises(RunAlreadyFinished):
        await steer(it, run_id, "Too late.")

    hang.gate.set()
    await it.until_over(run_id)


async def test_a_run_in_the_line_is_told_with_its_first_model_call(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it, first = await at_work(make_core, hang, Say(text="done"))
    turn = await it.turn()
    reply = await it.call("transfer_to_scout", turn, input="y", background_task=True)
    queued = core.task_id(reply)
    assert (await it.run(queued)).state is RunState.QUEUED

    await steer(it, queued, "Only the north.")
    hang.gate.set()
    await it.until_over(first, queued)

    told = [plan.instruction for plan in it.host.plans]
    assert told == ["", "", f"{INTRO}\nOnly the north.", ""]


async def test_only_its_owner_and_an_admin_steer_and_only_what_is_at_work(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it, run_id = await at_work(make_core, hang, Say(text="done"))
    bob, root = Asker(owner=OwnerId("bob")), Asker(owner=OwnerId("root"), is_admin=True)

    with pytest.raises(NotPermitted):
        await steer(it, run_id, "Mine.", bob)
    with pytest.raises(InvalidArgument):
        await steer(it, run_id, " \n")
    with pytest.raises(RunNotFound):
        await steer(it, "nothing", "x")
    await steer(it, run_id, "By an admin.", root)
    hang.gate.set()
    await it.until_over(run_id)
    with pytest.raises(RunAlreadyFinished):
        await steer(it, run_id, "Too late.")

    assert [plan.instruction for plan in it.host.plans] == ["", f"{INTRO}\nBy an admin."]
