"""Whose rights a child has, and who may see and stop what."""

import pytest

from astrbot_plugin_subagents.manager import Turn
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, Use, says
from support import core

make_core = core.make_core


async def a_core(make_core: core.MakeCore) -> tuple[core.Core, Turn, Turn]:
    """A core, a member's turn and an admin's."""
    it = await make_core(
        host=FakeHost(says(Say(text="done")), admins=("root",)), settings=core.many_agents()
    )
    return it, await it.turn("alice"), await it.turn("root", is_admin=True)


def rights(it: core.Core) -> list[str]:
    return ["member" if request.member_rights else "admin" for request in it.host.requests]


async def test_a_child_of_a_member_has_a_members_rights(make_core: core.MakeCore) -> None:
    it, member, _ = await a_core(make_core)
    await it.create("scout", member)

    await it.call("transfer_to_scout", member, input="x")

    assert rights(it) == ["member"]


async def test_an_admins_own_agent_has_an_admins_rights(make_core: core.MakeCore) -> None:
    it, _, admin = await a_core(make_core)
    await it.create("scout", admin)

    await it.call("transfer_to_scout", admin, input="x")

    assert rights(it) == ["admin"]
    assert not (await it.open()).agents()[0].member_memory


async def test_a_members_agent_in_an_admins_turn_stays_a_members(
    make_core: core.MakeCore,
) -> None:
    it, member, admin = await a_core(make_core)
    await it.create("scout", member)

    await it.call("transfer_to_scout", admin, input="x")

    assert rights(it) == ["member"]


async def test_what_a_member_wrote_into_a_memory_binds_it_until_an_admin_resets_it(
    make_core: core.MakeCore,
) -> None:
    it, member, admin = await a_core(make_core)
    await it.create("scout", admin)
    await it.call("transfer_to_scout", admin, input="1")
    await it.call("transfer_to_scout", member, input="2")
    await it.call("transfer_to_scout", admin, input="3")

    refused = await it.call("reset_subagent", member, name="scout")
    await it.call("transfer_to_scout", admin, input="4")
    await it.call("reset_subagent", admin, name="scout")
    await it.call("transfer_to_scout", admin, input="5")

    assert refused.startswith("Error: ")
    assert rights(it) == ["admin", "member", "member", "member", "admin"]
    assert it.host.requests[-1].history == ()


async def test_the_mark_of_a_members_memory_survives_a_restart(
    make_core: core.MakeCore,
) -> None:
    it, member, admin = await a_core(make_core)
    await it.create("scout", admin)
    await it.call("transfer_to_scout", member, input="x")
    await it.sessions.close()
    host = FakeHost(admins=("root",))
    root = await make_core(host=host, store=it.store, clock=it.clock, executor="process2")

    await root.call("transfer_to_scout", await root.turn("root", is_admin=True), input="x")

    assert rights(root) == ["member"]


async def test_a_member_who_was_an_admin_has_no_more_rights_than_now(
    make_core: core.MakeCore,
) -> None:
    it, _, admin = await a_core(make_core)
    await it.create("scout", admin)
    it.host.admins = frozenset()

    await it.call("transfer_to_scout", admin, input="x")

    assert rights(it) == ["member"]


@pytest.mark.parametrize("tool", ["wait_for_subagent", "read_subagent_result"])
async def test_another_users_result_is_for_an_admin_only_and_stays_its_owners(
    make_core: core.MakeCore, tool: str
) -> None:
    it, member, admin = await a_core(make_core)
    await it.create("scout", member)
    run_id = core.task_id(
        await it.call("transfer_to_scout", member, input="x", background_task=True)
    )
    await it.until_over(run_id)
    other = await it.turn("bob")

    refused = await it.call(tool, other, task_id=run_id)
    allowed = await it.call(tool, admin, task_id=run_id)
    await it.end(admin)

    assert refused.startswith(f"Error: Task {run_id} belongs to another user.")
    assert "\ndone\n" in allowed
    assert "\ndone\n" in await it.notes(await it.turn("alice"))


async def test_a_wait_by_name_skips_anothers_tasks_for_ones_own_result(
    make_core: core.MakeCore,
) -> None:
    it, member, _ = await a_core(make_core)
    await it.create("scout", member)
    other = await it.turn("bob")
    mine = core.task_id(await it.call("transfer_to_scout", member, input="x"))
    theirs = core.task_id(await it.call("transfer_to_scout", other, input="x"))

    reply = await it.call("wait_for_subagent", member, subagent_name="scout")

    assert mine in reply
    assert theirs not in reply


async def test_a_wait_by_name_for_an_agent_with_only_anothers_tasks_is_refused(
    make_core: core.MakeCore,
) -> None:
    it, member, _ = await a_core(make_core)
    await it.create("scout", member)
    await it.call("transfer_to_scout", member, input="x")

    reply = await it.call("wait_for_subagent", await it.turn("bob"), subagent_name="scout")

    assert "belongs to another user" in reply


async def test_names_and_states_are_seen_by_all_and_words_are_not(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(
        host=FakeHost(says(Use(tool="search", text="secret words"), hang), admins=("root",))
    )
    member, admin = await it.turn("alice"), await it.turn("root", is_admin=True)
    await it.create("scout", member, description="looks")
    await it.call("transfer_to_scout", member, input="secret task", background_task=True)
    await hang.reached.wait()
    other = await it.turn("bob")

    seen = await it.call("list_subagents", other) + await it.notes(other)

    assert 'scout (dynamic, unprotected): of user "alice", who says of it: "looks"' in seen
    assert "status: running" in seen
    assert "secret" not in seen
    for reader in (member, admin):
        assert "secret words" in await it.call("list_subagents", reader)


async def test_a_member_may_use_anothers_agent_and_gets_the_result(
    make_core: core.MakeCore,
) -> None:
    it, member, _ = await a_core(make_core)
    await it.create("scout", member)
    other = await it.turn("bob")

    run_id = core.task_id(
        await it.call("transfer_to_scout", other, input="x", background_task=True)
    )
    await it.until_over(run_id)

    assert run_id not in await it.notes(await it.turn("alice"))
    assert run_id in await it.notes(await it.turn("bob"))
