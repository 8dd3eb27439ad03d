"""What the end of a turn brings: to its children, to what it was handed, to its agents."""

import asyncio

from astrbot_plugin_subagents.manager import DynamicAgentSettings, RunState, Settings, TurnEnd
from astrbot_plugin_subagents.manager.events import AgentRemoved
from astrbot_plugin_subagents.manager.models import DeliveryState
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from support import core

make_core = core.make_core


async def names(it: core.Core) -> list[str]:
    return [config.name for config in (await it.open()).agents()]


async def deliveries(it: core.Core) -> list[DeliveryState]:
    rows = await it.store.load_deliveries((await it.open()).session, states=tuple(DeliveryState))
    return [row.state for row in rows]


async def test_a_stopped_turn_stops_its_foreground_children_only(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Hang()), settings=core.many_agents())
    turn = await it.turn()
    for name in ("front", "back"):
        await it.create(name, turn)
    behind = core.task_id(await it.call("transfer_to_back", turn, input="x", background_task=True))
    work = asyncio.create_task(it.call("transfer_to_front", turn, input="x"))
    await core.settled()
    (front,) = turn.children

    work.cancel()
    await it.end(turn, TurnEnd.STOPPED)

    run = await it.run(front)
    assert run.failure is not None
    assert (run.state, run.failure.message) == (
        RunState.CANCELLED,
        "The turn that asked was stopped.",
    )
    assert (await it.run(behind)).state is RunState.RUNNING
    notes = await it.notes(await it.turn())
    assert f"task_id: {front}\nsub-agent: front\nstate: cancelled" in notes


async def test_a_stopped_turn_stops_a_child_that_is_just_being_accepted(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(says(Hang()), store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    hold = trouble.hold("add_runs")
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="x"))
    await hold.reached.wait()

    ending = asyncio.create_task(it.end(turn, TurnEnd.STOPPED))
    await core.settled()
    hold.gate.set()
    await ending
    await work

    (run,) = await it.store.list_runs(turn.session)
    assert run.state is RunState.CANCELLED


async def test_a_turn_that_ends_well_stops_nothing(make_core: core.MakeCore) -> None:
    it = await make_core(says(Hang()))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))

    await it.end(turn)

    assert (await it.run(run_id)).state is RunState.RUNNING
    assert await names(it) == ["scout"]


async def test_a_turn_that_goes_on_without_us_keeps_its_agents_and_children(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Hang()), settings=core.many_agents())
    turn = await it.turn()
    for name in ("idler", "scout"):
        await it.create(name, turn)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="x"))
    await core.settled()
    (run_id,) = turn.children

    await it.end(turn, TurnEnd.LEFT)

    assert (await it.run(run_id)).state is RunState.RUNNING
    assert await names(it) == ["idler", "scout"]
    work.cancel()


async def test_the_end_of_a_turn_counts_once(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="x")

    await it.end(turn)
    await it.end(turn, TurnEnd.STOPPED)

    assert await deliveries(it) == [DeliveryState.ACKNOWLEDGED]


async def test_a_turn_that_is_over_takes_no_results(make_core: core.MakeCore) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="the answer")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    late = asyncio.create_task(it.call("wait_for_subagent", turn, task_id=run_id))
    await core.settled()
    await it.end(turn)

    hang.gate.set()
    await late

    assert "the answer" in await it.notes(await it.turn())


async def test_two_turns_of_one_user_share_no_result(make_core: core.MakeCore) -> None:
    it = await make_core()
    first, second = await it.turn(), await it.turn()
    await it.create("scout", first)
    run_id = core.task_id(
        await it.call("transfer_to_scout", first, input="x", background_task=True)
    )
    await it.until_over(run_id)

    notes = [await it.notes(turn) for turn in (second, first)]
    await it.end(first)
    await it.end(second, TurnEnd.STOPPED)

    assert [f"task_id: {run_id}\n" in text for text in notes] == [True, False]
    assert f"task_id: {run_id}\n" in await it.notes(await it.turn())


async def test_unprotected_agents_go_with_the_turn_and_protected_ones_keep_their_memory(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    for name in ("kept", "gone"):
        await it.create(name, turn)
        await it.call(f"transfer_to_{name}", turn, input=f"I am {name}")
    await it.call("protect_subagent", turn, name="kept")
    it.events.clear()

    await it.end(turn)
    later = await it.turn()
    await it.call("transfer_to_kept", later, input="again")

    assert await names(it) == ["kept"]
    removed = [event.config.name for event in it.events if isinstance(event, AgentRemoved)]
    assert removed == ["gone"]
    history = [body["content"] for body in it.host.requests[-1].history]
    assert history == ["I am kept", "done"]


async def test_an_agent_stays_until_its_last_result_is_read(make_core: core.MakeCore) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="done")))
    first = await it.turn()
    await it.create("scout", first)
    run_id = core.task_id(
        await it.call("transfer_to_scout", first, input="x", background_task=True)
    )
    await it.end(first)
    assert await names(it) == ["scout"]

    second = await it.turn()
    await it.end(second)
    assert await names(it) == ["scout"]

    hang.gate.set()
    await it.until_over(run_id)
    third = await it.turn()
    await it.end(third)
    assert await names(it) == ["scout"]

    fourth = await it.turn()
    assert "\ndone\n" in await it.notes(fourth)
    assert await names(it) == ["scout"]
    await it.end(fourth)
    assert await names(it) == []
    reader = await it.turn()
    assert "\ndone\n" in await it.call("read_subagent_result", reader, task_id=run_id)


async def test_a_stopped_turn_leaves_agents_whose_results_come_again(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    await it.create("idler", turn)
    await it.call("transfer_to_scout", turn, input="x")

    await it.end(turn, TurnEnd.STOPPED)

    assert await names(it) == ["scout"]


async def test_clean_up_can_be_switched_off(make_core: core.MakeCore) -> None:
    it = await make_core(
        settings=Settings(dynamic_agents=DynamicAgentSettings(auto_cleanup_per_turn=False))
    )
    turn = await it.turn()
    await it.create("scout", turn)

    await it.end(turn)

    assert await names(it) == ["scout"]


async def test_static_agents_never_go(make_core: core.MakeCore) -> None:
    it = await make_core(static=("clerk",))

    await it.end(await it.turn(""))

    assert await names(it) == ["clerk"]


async def test_the_end_of_one_members_turn_leaves_anothers_agents_alone(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(settings=core.many_agents())
    alice, bob = await it.turn("alice"), await it.turn("bob")
    await it.create("hers", alice)
    await it.create("his", bob)

    await it.end(alice)
    assert await names(it) == ["his"]
    await it.end(bob)
    assert await names(it) == []


async def test_agents_that_a_killed_bot_left_go_with_their_own_owners_turn(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    await it.create("his", await it.turn("bob"))
    await it.sessions.close()
    root = await make_core(store=it.store, clock=it.clock, executor="process2")

    await root.end(await root.turn("alice"))
    assert await names(root) == ["his"]
    await root.end(await root.turn("bob"))
    assert await names(root) == []


async def test_an_agent_that_is_used_in_another_of_its_owners_turns_stays(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    first, second = await it.turn(), await it.turn()
    await it.create("scout", first)

    await it.end(first)
    assert await names(it) == ["scout"]
    await it.end(second)
    assert await names(it) == []


async def test_a_turn_that_begins_during_a_clean_up_finds_its_agents(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store, settings=core.many_agents())
    turn = await it.turn()
    for name in ("a", "b"):
        await it.create(name, turn)
    hold = trouble.hold("delete_agent")
    ending = asyncio.create_task(it.end(turn))
    await hold.reached.wait()

    assert not (await it.open()).is_idle()
    later = await it.turn()
    hold.gate.set()
    await ending

    assert await names(it) == ["b"]
    assert "state: completed" in await it.call("transfer_to_b", later, input="x")


async def test_the_head_of_a_turn_tells_who_is_there_and_what_runs(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Hang()), settings=core.many_agents())
    turn = await it.turn()
    await it.create("scout", turn, description="looks\naround")
    ids = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xy"
    ]
    await core.settled()

    notes = await it.notes(await it.turn())
    others = await it.notes(await it.turn("bob"))

    assert notes == (
        "[Sub-agents: state of this chat]\n"
        "Sub-agents that exist now:\n"
        "- scout: looks around (1 running, 1 queued)\n\n"
        "Tasks of this user under way (do not start them again):\n"
        f"task_id: {ids[0]} | sub-agent: scout | running, 0 model calls; "
        "0 tokens in, 0 cached, 0 out; no tool called\n"
        f"task_id: {ids[1]} | sub-agent: scout | waiting in line, place 1"
    )
    assert "under way" not in others


async def test_a_quiet_chat_is_told_nothing(make_core: core.MakeCore) -> None:
    it = await make_core()

    assert await it.notes(await it.turn()) == ""


async def test_a_turn_is_handed_to_its_children_and_a_later_one_to_later_children(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(says(Say(text="x")), admins=("root",)))
    first, second = await it.turn("alice"), await it.turn("alice")
    await it.create("scout", first)

    await it.call("transfer_to_scout", second, input="x")
    await it.end(second)
    await it.call("transfer_to_scout", first, input="x")

    assert [request.turn for request in it.host.requests] == [second, first]
