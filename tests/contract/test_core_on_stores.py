"""Stories of the core on every kind of store: what one store keeps, the other keeps as well."""

import asyncio

from astrbot_plugin_subagents.manager import RunId, RunState, Settings
from astrbot_plugin_subagents.manager.models import DeliveryState, MessageBody
from astrbot_plugin_subagents.manager.store import Store
from astrbot_plugin_subagents.manager.testing import Act, FakeHost, Hang, Say, Use, says
from support import core, stores

store = stores.any_store
empty_file = stores.empty_file
make_core = core.make_core


async def start(
    make_core: core.MakeCore, store: Store, *acts: Act, before: core.Core | None = None
) -> core.Core:
    """The bot, started again with the clock of the time before."""
    return await make_core(
        host=FakeHost(says(*(acts or (Say(text="done"),)))),
        store=store,
        clock=before.clock if before else None,
        executor="process2" if before else "process1",
    )


async def test_agents_their_memory_and_their_results_survive_a_restart(
    make_core: core.MakeCore, store: Store
) -> None:
    it = await start(make_core, store, Use(tool="search"), Say(text="first answer"))
    turn = await it.turn()
    scout = await it.create("scout", turn, description="looks", tools=["search"])
    await it.call("protect_subagent", turn, name="scout")
    read = core.task_id(await it.call("transfer_to_scout", turn, input="first"))
    await it.end(turn)
    later = await it.turn()
    unread = core.task_id(
        await it.call("transfer_to_scout", later, input="second", background_task=True)
    )
    await it.until_over(unread)
    before = (await it.open()).agents()
    await it.sessions.close()

    root = await start(make_core, store, before=it)
    turn = await root.turn()
    notes = await root.notes(turn)
    await root.call("transfer_to_scout", turn, input="third")

    assert (await root.open()).agents() == before
    assert (f"task_id: {read}\n" in notes, f"task_id: {unread}\n" in notes) == (False, True)
    history: list[MessageBody] = list(root.host.requests[0].history)
    assert [body["role"] for body in history] == ["user", "assistant", "tool", "assistant"] * 2
    assert len(await root.stored_messages(scout)) == 10


async def test_a_killed_run_is_interrupted_and_a_reloaded_one_goes_on(
    make_core: core.MakeCore, store: Store
) -> None:
    hang = Hang()
    it = await start(make_core, store, Use(tool="write", text="I began."), hang)
    turn = await it.turn()
    await it.create("scout", turn)
    ids = [
        core.task_id(await it.call("transfer_to_scout", turn, input=text, background_task=True))
        for text in ("first", "second")
    ]
    await hang.reached.wait()
    await it.sessions.close()

    again = Hang()
    reloaded = await make_core(
        host=FakeHost(says(again)), store=store, clock=it.clock, executor="process1"
    )
    await again.reached.wait()
    assert len(reloaded.host.requests[0].resume) == 3
    await reloaded.sessions.close()
    root = await make_core(
        store=store,
        clock=it.clock,
        executor="process3",
        settings=Settings(resume_on_restart=False),
    )
    notes = await root.notes(await root.turn())

    runs = {run.run_id: run for run in await store.list_runs(turn.session)}
    assert [runs[RunId(run_id)].state for run_id in ids] == [RunState.INTERRUPTED] * 2
    assert [notes.count(f"task_id: {run_id}\n") for run_id in ids] == [1, 1]
    assert "\nI began.\n" in notes


async def test_a_write_that_was_committed_and_cancelled_may_be_repeated(
    make_core: core.MakeCore, store: Store
) -> None:
    trouble = core.TroubledStore(store)
    it = await start(make_core, trouble.store, Use(tool="write"), Say(text="done"))
    turn = await it.turn()
    scout = await it.create("scout", turn)
    hold = trouble.hold("write_run", after=True)
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="first", background_task=True)
    )
    await hold.reached.wait()
    stopping = asyncio.create_task(it.call("cancel_subagent_task", turn, task_id=run_id))
    await core.settled()
    hold.gate.set()
    await stopping
    trouble.holds.clear()

    await it.call("transfer_to_scout", turn, input="second")

    texts = [body["content"] for body in await it.stored_messages(scout)]
    assert texts == ["first", "second", None, "ok", "done"]
    stored = await store.get_run(turn.session, RunId(run_id))
    assert stored is not None
    assert stored.state is RunState.CANCELLED


async def test_replacing_resetting_and_removing_leave_no_messages_behind(
    make_core: core.MakeCore, store: Store
) -> None:
    it = await start(make_core, store)
    turn = await it.turn()
    first = await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="x")
    second = await it.create("SCOUT", turn)
    await it.call("transfer_to_SCOUT", turn, input="x")
    await it.call("reset_subagent", turn, name="scout")
    third = (await it.open()).agents()[0]
    await it.call("transfer_to_SCOUT", turn, input="x")
    counts = await store.count_messages([each.conversation for each in (first, second, third)])
    await it.call("remove_subagent", turn, name="scout")

    assert counts == {third.conversation: 2}
    assert await store.count_messages([third.conversation]) == {}
    assert await store.load_agents(turn.session) == []
    assert len(await store.list_runs(turn.session)) == 3


async def test_results_are_acknowledged_with_their_turn(
    make_core: core.MakeCore, store: Store
) -> None:
    it = await start(make_core, store)
    turn = await it.turn()
    await it.create("scout", turn)
    for _ in range(3):
        await it.call("transfer_to_scout", turn, input="x")

    async def states() -> list[DeliveryState]:
        rows = await store.load_deliveries(turn.session, states=tuple(DeliveryState))
        return [row.state for row in rows]

    assert set(await states()) == {DeliveryState.PENDING}
    await it.end(turn)
    assert await states() == [DeliveryState.ACKNOWLEDGED] * 3


async def test_a_long_memory_is_loaded_from_its_end(make_core: core.MakeCore, store: Store) -> None:
    it = await make_core(store=store, settings=Settings(subagent_history_maxlen=4))
    turn = await it.turn()
    await it.create("scout", turn)

    for number in range(6):
        await it.call("transfer_to_scout", turn, input=f"task {number}")

    history = [body["content"] for body in it.host.requests[-1].history]
    assert history == ["task 3", "done", "task 4", "done"]
    assert len(await store.list_runs(turn.session)) == 6
