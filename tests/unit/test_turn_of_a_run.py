"""A run belongs to the turn that asked for it: its event, and the tools its user had there."""

from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from support import core

make_core = core.make_core


async def test_a_child_works_for_the_turn_that_asked_also_when_its_user_has_a_newer_one(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Say(text="done")))
    asking, newer = await it.turn(), await it.turn()
    await it.create("scout", asking)

    await it.call("transfer_to_scout", asking, input="x")
    await it.call("transfer_to_scout", newer, input="y")

    assert [request.turn for request in it.host.requests] == [asking, newer]


async def test_a_child_that_starts_after_its_turn_has_none_and_keeps_its_users_tools_of_then(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(host=FakeHost(says(hang, Say(text="done")), tools=("search",)))
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="first", background_task=True)
    second = core.task_id(
        await it.call("transfer_to_scout", turn, input="second", background_task=True)
    )
    await hang.reached.wait()
    await it.end(turn)
    newer = await it.turn()
    it.host.tools = frozenset({"search", "danger"})

    hang.gate.set()
    await it.until_over(second)

    late = it.host.requests[-1]
    assert (late.prompt, late.turn, late.origin.tools) == ("second", None, ("search",))
    assert newer.turn_id != late.origin.turn_id == turn.turn_id
