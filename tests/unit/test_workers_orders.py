"""What home orders of a run that another process executes: stop, steer, answer."""

import asyncio

from astrbot_plugin_subagents.manager import Asker, RunState, StopReason
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.models import DeliveryState, OwnerId, RunId, SessionId
from support import fleet as fleets
from support.asking import QUESTION
from support.core import LONG, settled
from support.fleet import HOME, OTHER, WORKER, Fleet, Process

fleet = fleets.fleet

ALICE = Asker(owner=OwnerId("alice"))
QUEUED, RUNNING, WAITING = RunState.QUEUED, RunState.RUNNING, RunState.WAITING
COMPLETED, CANCELLED = RunState.COMPLETED, RunState.CANCELLED


async def pair(fleet: Fleet) -> tuple[Process, Process]:
    """A worker and a home; the worker gets what any process may have."""
    return await fleet.process(WORKER), await fleet.process(HOME)


async def at_work(fleet: Fleet, text: str = "look") -> tuple[Process, Process, str]:
    """A worker and a home whose run is at work there, after its turn."""
    worker, home = await pair(fleet)
    (run_id,) = await home.after_turn(text)
    await settled()
    assert (await fleet.row(run_id)).executor == "south 1"
    return worker, home, run_id


async def answers(worker: Process) -> list[str]:
    """What the calls of `ask_question` brought the children of a process."""
    kept = await worker.store.events_after(0)
    return [
        event.payload["output"]
        for event in kept
        if event.kind == "tool.finished" and event.payload["name"] == "ask_question"
    ]


async def test_a_run_is_cancelled_where_it_is_executed(fleet: Fleet) -> None:
    _, home, run_id = await at_work(fleet)
    manager = await home.open()

    (stopped,) = await manager.cancel(run_id, ALICE)
    await settled()

    assert stopped.state is CANCELLED
    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (CANCELLED, "south 1", 1)
    assert home.states(run_id) == [QUEUED, RUNNING, CANCELLED]
    assert fleet.exchange.jobs == []
    assert await fleet.inner.take_orders(RunId(run_id)) == []


async def test_a_command_that_comes_to_another_process_reaches_the_chats_runs(fleet: Fleet) -> None:
    _, home, run_id = await at_work(fleet)
    other = await fleet.process(OTHER)

    manager = await other.sessions.open_here(SessionId("chat"))
    stopped = await manager.stopping.stop_all_of(ALICE, StopReason.USER)
    await settled()

    assert [run.run_id for run in stopped] == [run_id]
    assert (await fleet.row(run_id)).state is CANCELLED
    assert await fleet.inner.home_of(SessionId("chat")) == OTHER
    assert home.sessions.loaded(SessionId("chat")) is None


async def test_a_process_that_does_not_obey_loses_the_run_after_a_while(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet)
    worker.freeze()
    manager = await home.open()
    stopping = asyncio.ensure_future(manager.cancel(run_id, ALICE))
    await settled()
    assert not stopping.done()

    await fleet.pass_time(5)

    (stopped,) = await stopping
    assert stopped.state is CANCELLED
    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (CANCELLED, "north 2", 2)
    worker.children.let("look")
    await worker.thaw()
    assert await fleet.row(run_id) == row
    assert home.states(run_id) == [QUEUED, RUNNING, CANCELLED]
    assert [delivery.state for delivery in await fleet.deliveries()] == [DeliveryState.PENDING]


async def test_a_run_that_nobody_has_taken_yet_is_cancelled_at_once(fleet: Fleet) -> None:
    worker = await fleet.process(WORKER, places=0)
    home = await fleet.process(HOME, places=0)
    (run_id,) = await home.after_turn("look")
    await settled()

    (stopped,) = await (await home.open()).cancel(run_id, ALICE)

    assert stopped.state is CANCELLED
    await fleet.process(OTHER)
    await settled()
    row = await fleet.row(run_id)
    assert (row.state, row.executor) == (CANCELLED, "north 2")
    assert fleet.exchange.brought == [(OTHER, run_id)]
    assert worker.children.begun == []


async def test_a_run_that_stands_in_line_at_home_is_cancelled_without_a_word_to_others(
    fleet: Fleet,
) -> None:
    _, home = await pair(fleet)
    first, second = await home.after_turn("one", "two")
    await settled()

    (stopped,) = await (await home.open()).cancel(second, ALICE)

    assert (stopped.state, stopped.fence) == (CANCELLED, 0)
    assert fleet.exchange.brought == [(WORKER, first)]


async def test_stopping_all_runs_of_a_chat_reaches_every_process(fleet: Fleet) -> None:
    first = await fleet.process(WORKER, places=1)
    second = await fleet.process(OTHER, places=1)
    home = await fleet.process(HOME)
    turn = await home.turn()
    for agent in ("ann", "ben", "cat"):
        await home.begin(turn, f"{agent}'s", agent=agent)
    await settled()

    async with asyncio.timeout(LONG):
        await home.sessions.end_all(turn.session, StopReason.PLUGIN_OFF)
    await settled()

    rows = [await fleet.row(run_id) for _, run_id in fleet.exchange.brought]
    assert [row.state for row in rows] == [CANCELLED] * 3
    assert sorted(row.executor for row in rows) == ["north 3", "south 1", "west 2"]
    assert first.sessions.all_loaded() == second.sessions.all_loaded() == []


async def test_a_child_elsewhere_is_told_what_its_principal_says(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "wait")
    manager = await home.open()

    assert manager.runs.steer(RunId(run_id), "Look at the sea.")
    await settled()
    worker.children.waits.set()
    await settled()

    told = [plan.instruction for plan in worker.host.plans]
    assert told == ["", "Message from your principal; follow it:\nLook at the sea."]
    assert not manager.runs.steer(RunId(run_id), "Too late.")


async def test_what_is_said_before_anyone_has_the_run_is_not_lost(fleet: Fleet) -> None:
    home = await fleet.process(HOME, places=0)
    (run_id,) = await home.after_turn("look")
    await settled()
    assert (await home.open()).runs.steer(RunId(run_id), "Look at the sea.")
    await settled()

    worker = await fleet.process(WORKER)
    await settled()

    [plan] = worker.host.plans
    assert "Look at the sea." in plan.instruction


async def test_a_question_from_elsewhere_is_asked_at_home_and_its_answer_goes_back(
    fleet: Fleet,
) -> None:
    worker, home, run_id = await at_work(fleet, "ask")
    assert home.messenger.sent == [(Way.ASK, (run_id,))]
    (asking,) = (await home.open()).runs.questions.open()
    assert (asking.run_id, asking.state, asking.question) == (run_id, WAITING, QUESTION)

    turn = await home.turn()
    reply = await home.call("answer_subagent", turn, task_id=run_id, answer="The red one.")
    await settled()

    assert f"Task {run_id} goes on with your answer." in reply
    assert home.states(run_id) == [QUEUED, RUNNING, WAITING, RUNNING, COMPLETED]
    await fleet.pass_time(2)
    assert await answers(worker) == ["The red one."]
    assert worker.messenger.begun == []
    assert home.messenger.sent == [(Way.ASK, (run_id,))]


async def test_a_waiting_tool_at_home_is_told_the_question(fleet: Fleet) -> None:
    await fleet.process(WORKER)
    home = await fleet.process(HOME)
    turn = await home.turn()

    reply = await home.call("transfer_to_ann", turn, input="ask")

    assert QUESTION in reply
    assert turn.children == set()


async def test_a_question_that_nobody_answers_ends_where_the_child_is(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "ask")

    await fleet.pass_time(600)

    assert (await home.open()).runs.questions.open() == []
    assert home.states(run_id) == [QUEUED, RUNNING, WAITING, RUNNING, COMPLETED]
    await fleet.pass_time(2)
    [answer] = await answers(worker)
    assert "Nobody answered in time" in answer


async def test_a_run_that_waits_for_an_answer_frees_its_place_at_home(fleet: Fleet) -> None:
    _, home, _ = await at_work(fleet, "ask")
    manager = await home.open()

    assert manager.runs.free_places() == manager.settings.max_parallel_per_session


async def test_an_answer_survives_the_process_that_took_it(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "ask")
    home.children.asks = "{}"
    worker.freeze()
    turn = await home.turn()
    await home.call("answer_subagent", turn, task_id=run_id, answer="The red one.")
    await settled()
    # the order was given, and who should have taken it is gone
    await fleet.kill(worker)

    await settled()

    assert (await fleet.row(run_id)).state is COMPLETED
    assert any("The red one." in note for note in home.host.requests[-1].notes)
    assert home.messenger.sent == [(Way.ASK, (run_id,))]


async def test_nobody_waits_any_more_for_a_run_that_was_handed_over(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    turn = await home.turn()
    calling = asyncio.ensure_future(home.call("transfer_to_ann", turn, input="look"))
    await settled()
    await fleet.pass_time(60)
    reply = await calling

    worker.children.let("look")
    await settled()

    run_id = fleet.exchange.brought[0][1]
    assert run_id in reply
    assert (await fleet.row(run_id)).background
    await home.end(turn)
    await settled()
    assert home.brought() == [(run_id,)]
