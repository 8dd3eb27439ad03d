"""After a reload of the plugin runs go on; after a restart of the bot too, or they end."""

import asyncio
from datetime import timedelta

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn
from astrbot_plugin_subagents.manager.events import RunChanged, ToolStarted
from astrbot_plugin_subagents.manager.models import (
    DeliveryState,
    Failure,
    MessageBody,
    RunId,
    ToolUse,
    Usage,
)
from astrbot_plugin_subagents.manager.testing import EPOCH, Act, FakeHost, Hang, Say, Use, says
from support import core

make_core = core.make_core

INTERRUPTED = Failure(code="interrupted", message="The bot was restarted while this ran.")
NO_RESUME = Settings(resume_on_restart=False)


async def cut_off(
    make_core: core.MakeCore, *acts: Act, queued: int = 0, **more: object
) -> tuple[core.Core, Turn, list[str]]:
    """A bot that was stopped in the middle of a run, with others behind it in the line."""
    hang = Hang()
    it = await make_core(says(*acts, hang), **more)
    turn = await it.turn()
    await it.create("scout", turn)
    ids = [
        core.task_id(await it.call("transfer_to_scout", turn, input=text, background_task=True))
        for text in ("first", "second", "third")[: 1 + queued]
    ]
    await hang.reached.wait()
    await it.sessions.close()
    return it, turn, ids


async def again(
    make_core: core.MakeCore, it: core.Core, *acts: Act, executor: str = "process1", **more: object
) -> core.Core:
    host = FakeHost(says(*(acts or (Say(text="done"),))))
    return await make_core(host=host, store=it.store, clock=it.clock, executor=executor, **more)


async def test_a_stop_leaves_runs_as_they_are(make_core: core.MakeCore) -> None:
    it, turn, _ = await cut_off(make_core, queued=1)
    await it.store.open()

    runs = await it.store.list_runs(turn.session)

    assert [run.state for run in runs] == [RunState.QUEUED, RunState.RUNNING]
    assert core.ended_ids(it.events) == []
    assert await it.store.load_deliveries(turn.session, states=tuple(DeliveryState)) == []


async def test_where_runs_do_not_survive_a_restart_they_end_with_what_they_had(
    make_core: core.MakeCore,
) -> None:
    it, turn, (first, second) = await cut_off(
        make_core, Use(tool="search", text="I began."), queued=1
    )
    it.clock.advance(60)

    root = await again(make_core, it, executor="process2", settings=NO_RESUME)

    runs = {run.run_id: run for run in await it.store.list_runs(turn.session)}
    running, queued = runs[RunId(first)], runs[RunId(second)]
    assert (running.state, queued.state) == (RunState.INTERRUPTED, RunState.INTERRUPTED)
    assert running.failure == queued.failure == INTERRUPTED
    assert (running.last_text, running.usage) == ("I began.", Usage(input=10, output=5))
    assert running.tools_used == (ToolUse(name="search", calls=1),)
    assert running.finished_at == it.clock.now()
    assert root.host.requests == []


async def test_interrupted_results_come_to_the_owners_next_turn_once(
    make_core: core.MakeCore,
) -> None:
    it, _, ids = await cut_off(make_core, Use(tool="search", text="I began."), queued=1)
    root = await again(make_core, it, executor="process2", settings=NO_RESUME)

    others = await root.notes(await root.turn("bob"))
    turn = await root.turn("alice")
    notes = await root.notes(turn)
    await root.end(turn)

    assert [run_id in others for run_id in ids] == [False, False]
    assert [notes.count(f"task_id: {run_id}\n") for run_id in ids] == [1, 1]
    assert notes.count("INTERRUPTED by a restart of the bot") == 2
    assert "\nI began.\n" in notes
    assert await root.notes(await root.turn("alice")) == ""


async def test_a_result_that_nobody_had_survives_a_restart(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await it.until_over(run_id)
    await it.sessions.close()

    root = await again(make_core, it, executor="process2")

    assert f"task_id: {run_id}\n" in await root.notes(await root.turn())


async def test_a_result_that_was_acknowledged_does_not_come_again(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))
    await it.end(turn)
    await it.sessions.close()

    root = await again(make_core, it, executor="process2")

    assert run_id not in await root.notes(await root.turn())


async def test_after_a_reload_a_run_goes_on_where_it_was(make_core: core.MakeCore) -> None:
    it, turn, (run_id,) = await cut_off(
        make_core, Use(tool="search", output="found", text="I look.")
    )

    root = await again(make_core, it)
    await root.until_over(run_id)

    (request,) = root.host.requests
    assert request.prompt == "first"
    assert request.history == ()
    assert [body["role"] for body in request.resume] == ["user", "assistant", "tool"]
    assert request.turn is None
    run = await root.run(run_id)
    assert (run.state, run.last_text, run.steps) == (RunState.COMPLETED, "done", 2)
    assert run.usage == Usage(input=20, output=10)
    assert run.tools_used == (ToolUse(name="search", calls=1),)
    assert (run.background, run.fence) == (True, 2)
    config = (await root.open()).agents()[0]
    roles = [body["role"] for body in await root.stored_messages(config)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert f"task_id: {run_id}\n" in await root.notes(await root.turn())
    assert run_id not in await root.notes(await root.turn())
    assert turn.session == run.session


async def test_a_foreground_task_goes_on_in_the_background(make_core: core.MakeCore) -> None:
    hang = Hang()
    it = await make_core(says(hang))
    turn = await it.turn()
    await it.create("scout", turn)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="x"))
    await hang.reached.wait()
    await it.sessions.close()
    run_id = core.task_id(await work)

    root = await again(make_core, it)
    await root.until_over(run_id)

    assert (await root.run(run_id)).background


async def test_after_a_reload_the_line_is_as_it_was(make_core: core.MakeCore) -> None:
    it, _, ids = await cut_off(make_core, queued=2)

    root = await again(make_core, it)
    await root.until_over(*ids)

    assert [request.prompt for request in root.host.requests] == ["first", "second", "third"]
    assert core.ended_ids(root.events) == ids
    states = [core.states_of(root.events, run_id) for run_id in ids]
    assert states == [[RunState.QUEUED, RunState.RUNNING, RunState.COMPLETED]] * 3


async def test_a_run_cut_off_before_anything_was_recorded_begins_anew(
    make_core: core.MakeCore,
) -> None:
    it, _, (run_id,) = await cut_off(make_core)

    root = await again(make_core, it)
    await root.until_over(run_id)

    (request,) = root.host.requests
    assert (request.resume, request.history) == ((), ())
    config = (await root.open()).agents()[0]
    stored = await root.stored_messages(config)
    assert [body["content"] for body in stored] == ["first", "done"]


async def test_earlier_tasks_stay_history_and_do_not_mix_with_what_is_resumed(
    make_core: core.MakeCore,
) -> None:
    scripts: list[list[Act]] = [[Say(text="earlier")], [Use(tool="search"), Hang()]]
    it = await make_core(lambda _: scripts.pop(0))
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="before")
    run_id = core.task_id(
        await it.call("transfer_to_scout", turn, input="now", background_task=True)
    )
    await core.settled()
    await it.sessions.close()

    root = await again(make_core, it)
    await root.until_over(run_id)

    (request,) = root.host.requests
    assert [body["content"] for body in request.history] == ["before", "earlier"]
    assert request.resume[0] == {"role": "user", "content": "now"}
    assert len(request.resume) == 3


@pytest.mark.parametrize("limit", [0, 1, 300])
async def test_what_is_resumed_is_whole_however_long_it_is_and_whatever_is_remembered(
    make_core: core.MakeCore, limit: int
) -> None:
    settings = Settings(subagent_history_maxlen=limit, max_steps=99)
    calls = [Use(tool="search", read_only=True) for _ in range(40)]
    it, _, (run_id,) = await cut_off(make_core, *calls, settings=settings)
    await it.store.open()
    stored = await it.store.get_run(core.SessionId("chat"), RunId(run_id))
    assert stored is not None
    assert stored.steps == 40

    root = await make_core(store=it.store, clock=it.clock, settings=settings)
    await root.until_over(run_id)

    (request,) = root.host.requests
    assert len(request.resume) == 1 + 2 * 40
    assert request.history == ()


async def test_a_call_whose_outcome_is_unknown_is_named(make_core: core.MakeCore) -> None:
    gate = asyncio.Event()
    it = await make_core(
        says(
            Use(tool="search", output="found"),
            Use(tool="write", arguments='{"path": "/a"}', gate=gate),
        )
    )
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await it.until(lambda event: isinstance(event, ToolStarted), count=2)
    await it.sessions.close()

    root = await again(make_core, it)
    await root.until_over(run_id)

    (request,) = root.host.requests
    assert len(request.resume) == 3
    note = request.notes[-1]
    assert note.startswith("Your work was interrupted and is now taken up again.")
    assert '- write {"path": "/a"}: outcome unknown;' in note
    assert "search" not in note


async def test_a_run_that_is_taken_up_keeps_the_limits_it_has_left(
    make_core: core.MakeCore,
) -> None:
    settings = Settings(execution_timeout=100, max_steps=3)
    it, _, (run_id,) = await cut_off(
        make_core, Use(tool="search"), Use(tool="search"), settings=settings
    )
    it.clock.advance(40)
    root = await make_core(says(Hang()), store=it.store, clock=it.clock, settings=settings)
    await root.until(lambda event: RunState.RUNNING in core.states_of([event], run_id))
    await core.settled()

    root.clock.advance(59)
    await core.settled()
    assert core.ended_ids(root.events) == []
    root.clock.advance(1)
    await root.until_over(run_id)

    run = await root.run(run_id)
    assert (run.state, run.steps) == (RunState.TIMED_OUT, 2)


async def test_a_run_is_taken_up_only_once_by_two_who_start(make_core: core.MakeCore) -> None:
    it, _, (run_id,) = await cut_off(make_core)

    first = await again(make_core, it)
    second = await again(make_core, it)
    await core.settled()

    ended = core.ended_ids([*first.events, *second.events])
    assert ended == [run_id]


async def test_a_restart_leaves_agents_and_their_memory(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    await it.call("transfer_to_scout", turn, input="first")
    await it.end(turn)
    before = (await it.open()).agents()
    await it.sessions.close()

    root = await again(make_core, it, executor="process2")
    turn = await root.turn()
    await root.call("transfer_to_scout", turn, input="second")

    assert (await root.open()).agents() == before
    history: list[MessageBody] = list(root.host.requests[0].history)
    assert [body["content"] for body in history] == ["first", "done"]


async def test_runs_of_two_former_processes_are_told_apart(make_core: core.MakeCore) -> None:
    it, turn, (old,) = await cut_off(make_core)
    await it.store.open()
    mine = Run(
        run_id=RunId("mine"),
        session=turn.session,
        agent=core.AgentName("scout"),
        conversation=(await it.store.load_agents(turn.session))[0].conversation,
        input="mine",
        owner=turn.asker.owner,
        created_at=EPOCH - timedelta(hours=1),
        executor="process2",
    )
    await it.store.add_runs([mine])

    root = await again(make_core, it, executor="process2", settings=NO_RESUME)
    await root.until_over("mine")
    notes = await root.notes(await root.turn())

    assert f"task_id: {old}\n" in notes
    assert "task_id: mine\n" in notes
    started = [event.run.run_id for event in root.events if isinstance(event, RunChanged)]
    assert set(started) == {"mine"}
