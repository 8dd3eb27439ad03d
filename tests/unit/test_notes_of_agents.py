"""Agents and their notes on the board change together, also when the store is in trouble."""

import asyncio

from support import core

make_core = core.make_core


async def test_no_task_begins_with_a_memory_that_is_about_to_go(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="one")
    hold = trouble.hold("delete_shared_entries")
    reset = asyncio.create_task(it.call("reset_subagent", turn, name="scout"))
    await hold.reached.wait()

    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="two"))
    await core.settled()
    hold.gate.set()
    await asyncio.gather(work, reset)
    await it.call("transfer_to_scout", turn, input="three")

    tasks = [[b["content"] for b in r.history if b["role"] == "user"] for r in it.host.requests]
    assert tasks == [[], [], ["two"]]


async def test_a_reset_that_cannot_be_stored_leaves_the_notes(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    board = (await it.open()).board.for_children()
    assert board is not None
    await board.post("message", "x", sender="scout", owner=turn.asker.owner, limit=9)
    trouble.failing |= {"save_agent", "delete_agent"}
    reply = await it.call("reset_subagent", turn, name="scout")
    assert reply.startswith("Error")
    assert len(board.entries()) == 1


async def test_a_replaced_agents_notes_go(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    board = (await it.open()).board.for_children()
    assert board is not None
    await board.post("message", "x", sender="scout", owner=turn.asker.owner, limit=9)
    await it.create("Scout", turn)
    assert list(board.entries()) == []


async def test_notes_that_cannot_be_deleted_do_not_keep_a_removed_agents_tool(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    await it.create("scout", turn)
    trouble.failing.add("delete_shared_entries")
    await it.call("remove_subagent", turn, name="scout")
    assert (await it.open()).agents() == []
    assert [type(event).__name__ for event in it.events] == ["AgentCreated", "AgentRemoved"]
