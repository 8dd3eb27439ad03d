"""Removing, protecting and resetting agents: rights, states, and what a refusal leaves."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import AgentKind, Turn
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.events import AgentChanged, AgentRemoved
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Hang, Say, says
from support import core

make_core = core.make_core

INHERENT = "and, where the bot has them: astrbot_execute_shell, astrbot_execute_python"
CHANGING = ("remove_subagent", "reset_subagent", "protect_subagent", "unprotect_subagent")


async def a_core(make_core: core.MakeCore, *, hangs: bool = False) -> tuple[core.Core, Turn]:
    script = says(Hang()) if hangs else says(Say(text="done"))
    it = await make_core(host=FakeHost(script, admins=("root",)))
    return it, await it.turn()


async def names(it: core.Core) -> list[str]:
    manager = await it.open()
    agents = manager.agents()
    # static ones come from the configuration
    dynamic = [config for config in agents if config.kind is AgentKind.DYNAMIC]
    assert await it.store.load_agents(manager.session) == dynamic
    return [config.name for config in agents]


@pytest.mark.parametrize("tool", CHANGING)
async def test_an_agent_that_is_not_there_gets_a_near_name(
    make_core: core.MakeCore, tool: str
) -> None:
    it, turn = await a_core(make_core)
    await it.create("scout", turn)
    before = await core.snapshot(it)

    reply = await it.call(tool, turn, name="scuot")

    assert reply.startswith("Error: There is no sub-agent named 'scuot'.")
    assert "Did you mean 'scout'?" in reply
    assert await core.snapshot(it) == before


@pytest.mark.parametrize("tool", CHANGING)
async def test_without_agents_the_text_says_how_to_make_one(
    make_core: core.MakeCore, tool: str
) -> None:
    it, turn = await a_core(make_core)

    assert "`create_subagent`" in await it.call(tool, turn, name="scout")


@pytest.mark.parametrize("tool", CHANGING)
async def test_another_users_agent_is_left_alone_but_for_an_admin(
    make_core: core.MakeCore, tool: str
) -> None:
    it, turn = await a_core(make_core)
    await it.create("scout", await it.turn("bob"))
    before = await core.snapshot(it)

    refused = await it.call(tool, turn, name="scout")
    unchanged = await core.snapshot(it) == before
    allowed = await it.call(tool, await it.turn("root", is_admin=True), name="scout")

    assert refused.startswith("Error: Sub-agent 'scout' belongs to another user.")
    assert unchanged
    assert not allowed.startswith("Error")


@pytest.mark.parametrize("tool", ["remove_subagent", "reset_subagent"])
async def test_an_agent_at_work_is_left_as_it_is_and_the_task_is_named(
    make_core: core.MakeCore, tool: str
) -> None:
    it, turn = await a_core(make_core, hangs=True)
    await it.create("scout", turn)
    started = core.task_id(
        await it.call("transfer_to_scout", turn, input="Look.", background_task=True)
    )
    await core.settled()
    before = await core.snapshot(it)

    reply = await it.call(tool, turn, name="scout")

    assert reply.startswith("Error: Sub-agent 'scout' is at work: ")
    assert f'`cancel_subagent_task` with task_id "{started}"' in reply
    assert await core.snapshot(it) == before


@pytest.mark.parametrize("tool", ["remove_subagent", "reset_subagent"])
async def test_an_agent_whose_run_is_just_being_accepted_is_at_work(
    make_core: core.MakeCore, tool: str
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("add_runs")
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    await hold.reached.wait()

    reply = await it.call(tool, turn, name="scout")
    hold.gate.set()

    assert reply.startswith("Error: Sub-agent 'scout' is at work: ")
    assert "state: completed" in await work


async def test_a_removed_agent_is_gone_with_its_memory_and_its_results_stay(
    make_core: core.MakeCore,
) -> None:
    it, turn = await a_core(make_core)
    scout = await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="Look."))
    it.events.clear()

    await it.call("remove_subagent", turn, name="scout")

    assert await names(it) == []
    assert await it.stored_messages(scout) == []
    scout = core.replace(scout, member_memory=True)
    assert it.events == [AgentRemoved(session=turn.session, at=EPOCH, config=scout)]
    assert "\ndone\n" in await it.call("read_subagent_result", turn, task_id=run_id)


async def test_all_takes_only_ones_own_idle_unprotected_dynamic_agents(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(
        host=FakeHost(core.replies_by_task(Go=says(Say(text="done")), Hang=says(Hang()))),
        static=("clerk",),
        settings=core.many_agents(),
    )
    turn = await it.turn()
    for name in ("idle", "done", "busy", "kept"):
        await it.create(name, turn)
    await it.create("bobs", await it.turn("bob"))
    await it.call("transfer_to_done", turn, input="Go")
    await it.call("transfer_to_busy", turn, input="Hang", background_task=True)
    await it.call("protect_subagent", turn, name="kept")

    reply = await it.call("remove_subagent", turn, name=" ALL ")

    assert reply == (
        "Removed: idle, done. Still at work, so kept: busy. Stop them with `cancel_subagent_task`."
    )
    assert await names(it) == ["clerk", "busy", "kept", "bobs"]


async def test_all_leaves_an_agent_that_was_made_anew_meanwhile(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    for name in ("a", "b"):
        await it.create(name, turn)
    hold = trouble.hold("delete_agent")
    removing = asyncio.create_task(it.call("remove_subagent", turn, name="all"))
    await hold.reached.wait()
    making = asyncio.create_task(it.call("create_subagent", turn, name="b", system_prompt="Anew."))
    await core.settled()

    hold.gate.set()
    await asyncio.gather(removing, making)

    (agent,) = (await it.open()).agents()
    assert (agent.name, agent.system_prompt) == ("b", "Anew.")


async def test_all_of_nothing_says_so(make_core: core.MakeCore) -> None:
    it, turn = await a_core(make_core)

    assert await it.call("remove_subagent", turn, name="all") == "Removed: none."


async def test_a_protected_agent_is_removed_only_once_it_is_unprotected(
    make_core: core.MakeCore,
) -> None:
    it, turn = await a_core(make_core)
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    manager = await it.open()

    refused = await it.call("remove_subagent", turn, name="scout")

    assert refused.startswith("Error: Sub-agent 'scout' is protected.")
    assert "`unprotect_subagent`" in refused
    assert manager.is_protected("scout")
    await it.call("unprotect_subagent", turn, name="scout")
    assert not manager.is_protected("SCOUT")
    assert "Removed" in await it.call("remove_subagent", turn, name="scout")


async def test_protecting_twice_tells_of_one_change(make_core: core.MakeCore) -> None:
    it, turn = await a_core(make_core)
    await it.create("scout", turn)
    it.events.clear()

    first = await it.call("protect_subagent", turn, name="scout")
    second = await it.call("protect_subagent", turn, name="scout")

    assert first == second
    assert [type(event) for event in it.events] == [AgentChanged]


@pytest.mark.parametrize("tool", ["protect_subagent", "unprotect_subagent"])
async def test_a_static_agent_says_that_it_always_is_protected(
    make_core: core.MakeCore, tool: str
) -> None:
    it = await make_core(static=("clerk",))
    before = await core.snapshot(it)

    reply = await it.call(tool, await it.turn(), name="CLERK")

    assert reply == "clerk is static: it is always protected. Nothing was changed."
    assert await core.snapshot(it) == before


async def test_a_static_agent_is_listed_as_the_bots_and_protected(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(static=("clerk",))

    listed = await it.call("list_subagents", await it.turn())

    assert "clerk (static, protected): no description\n  owner: the bot\n" in listed
    assert (await it.open()).is_protected("clerk")


async def test_a_static_agent_is_not_removed(make_core: core.MakeCore) -> None:
    it = await make_core(static=("clerk",))
    before = await core.snapshot(it)

    reply = await it.call("remove_subagent", await it.turn(), name="clerk")

    assert reply.startswith("Error: Sub-agent 'clerk' is static")
    assert await core.snapshot(it) == before


async def test_a_reset_agent_forgets_and_keeps_all_else(make_core: core.MakeCore) -> None:
    it, turn = await a_core(make_core)
    old = await it.create("scout", turn, tools=["search"])
    await it.call("transfer_to_scout", turn, input="Look.")

    await it.call("reset_subagent", turn, name="scout")
    (new,) = (await it.open()).agents()
    await it.call("transfer_to_scout", turn, input="Look again.")

    assert new == core.replace(old, conversation=new.conversation, member_memory=True)
    assert new.conversation != old.conversation
    assert await it.stored_messages(old) == []
    assert [request.history for request in it.host.requests] == [(), ()]
    assert await names(it) == ["scout"]


async def test_protecting_an_agent_whose_run_is_starting_is_not_lost(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("load_messages")
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    await hold.reached.wait()

    await it.call("protect_subagent", turn, name="scout")
    hold.gate.set()
    await work

    assert (await it.open()).is_protected("scout")
    assert [config.protected for config in await it.store.load_agents(turn.session)] == [True]


async def test_two_changes_of_one_agent_at_once_are_both_kept(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("save_agent")
    keeping = asyncio.create_task(it.call("protect_subagent", turn, name="scout"))
    await hold.reached.wait()
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    await core.settled()

    hold.gate.set()
    await asyncio.gather(keeping, work)

    (config,) = (await it.open()).agents()
    assert (config.protected, config.member_memory) == (True, True)
    assert await names(it) == ["scout"]


@pytest.mark.parametrize(
    ("tool", "method"),
    [
        ("protect_subagent", "save_agent"),
        ("reset_subagent", "delete_agent"),
        ("remove_subagent", "delete_agent"),
    ],
)
async def test_a_change_that_cannot_be_stored_is_not_made(
    make_core: core.MakeCore, tool: str, method: str
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    before = await core.snapshot(it)
    trouble.failing.add(method)

    reply = await it.call(tool, turn, name="scout")

    trouble.failing.clear()
    assert reply.startswith(f"Error: {StoreUnavailable('the disk is full')}")
    assert await core.snapshot(it) == before


async def test_the_list_says_who_there_is_and_what_they_do(make_core: core.MakeCore) -> None:
    it, turn = await a_core(make_core, hangs=True)
    await it.create("scout", turn, description="looks", tools=["search"])
    await it.create("idler", turn)
    first, second = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xy"
    ]
    await core.settled()

    listed = await it.call("list_subagents", turn)
    short = await it.call("list_subagents", turn, include_status=False)

    assert listed == (
        "scout (dynamic, unprotected): looks\n"
        "  owner: alice\n"
        "  status: running\n"
        f"  task_id: {first} | sub-agent: scout | running, 0 model calls; "
        "0 tokens in, 0 cached, 0 out; no tool called\n"
        f"  task_id: {second} | sub-agent: scout | waiting in line, place 1\n"
        f"  tools: search; {INHERENT}\n"
        "  skills: none\n"
        "  model: default\n"
        "  memory: 0 messages\n\n"
        "idler (dynamic, unprotected): no description\n"
        "  owner: alice\n"
        "  status: idle\n"
        f"  tools: none; {INHERENT}\n"
        "  skills: none\n"
        "  model: default\n"
        "  memory: 0 messages\n\n"
        "Free: 1 of 3 sub-agents, 15 tasks at once."
    )
    assert short == (
        "scout (dynamic, unprotected): looks\n\n"
        "idler (dynamic, unprotected): no description\n\n"
        "Free: 1 of 3 sub-agents, 15 tasks at once."
    )


async def test_an_empty_list_says_so(make_core: core.MakeCore) -> None:
    it, turn = await a_core(make_core)

    listed = await it.call("list_subagents", turn)

    assert listed == ("There are no sub-agents here.\n\nFree: 3 of 3 sub-agents, 16 tasks at once.")


def test_a_config_is_never_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        core.an_agent("scout").protected = True  # type: ignore[misc] # that is the point
