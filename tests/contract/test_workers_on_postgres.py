"""Cores with connections of their own to one PostgreSQL database share the work."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager import RunState, Turn
from astrbot_plugin_subagents.manager.events import Event, RunChanged, TurnEnded
from astrbot_plugin_subagents.manager.models import Asker, DeliveryState, OwnerId
from support import fleet as fleets
from support import stores
from support.core import LONG
from support.fleet import HOME, OTHER, WORKER, Fleet, Process

pytestmark = [pytest.mark.postgres, stores.needs_server]

fleet = fleets.server_fleet

ALICE = Asker(owner=OwnerId("alice"))
QUEUED, RUNNING, WAITING = RunState.QUEUED, RunState.RUNNING, RunState.WAITING
COMPLETED, CANCELLED = RunState.COMPLETED, RunState.CANCELLED


async def until_brought(home: Process) -> None:
    """Wait until a wake-up turn has come to its end."""
    await home.until(
        lambda event: isinstance(event, TurnEnded) and event.turn_id.startswith("wake")
    )


async def until_state(process: Process, run_id: str, state: RunState, *, count: int = 1) -> None:
    """Wait until a run was told to be in a state."""

    def is_it(event: Event) -> bool:
        return (
            isinstance(event, RunChanged)
            and event.run.run_id == run_id
            and event.run.state is state
        )

    await process.until(is_it, count=count)


async def at_work(fleet: Fleet, text: str) -> tuple[Process, Process, str]:
    """A worker and a home whose run is at work there, after its turn."""
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn(text)
    await until_state(home, run_id, RUNNING)
    return worker, home, run_id


async def test_a_result_comes_to_its_home_once(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "look")

    worker.children.let("look")
    await until_brought(home)

    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (COMPLETED, "south 1", 1)
    assert home.states(run_id) == [QUEUED, RUNNING, COMPLETED]
    assert home.brought() == [(run_id,)]
    assert worker.messenger.begun == []
    [delivery] = await fleet.deliveries()
    assert delivery.state is DeliveryState.ACKNOWLEDGED


async def test_a_waiting_tool_gets_the_result(fleet: Fleet) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    worker.children.let("look")

    reply = await home.call("transfer_to_ann", await home.turn(), input="look")

    assert "look done" in reply
    assert home.children.begun == []


async def test_a_question_is_answered_from_home(fleet: Fleet) -> None:
    _, home, run_id = await at_work(fleet, "ask")
    await until_state(home, run_id, WAITING)

    turn = await home.turn()
    await home.call("answer_subagent", turn, task_id=run_id, answer="The red one.")
    await home.until_over(run_id)

    assert home.states(run_id) == [QUEUED, RUNNING, WAITING, RUNNING, COMPLETED]


async def test_a_run_is_cancelled_where_it_is(fleet: Fleet) -> None:
    _, home, run_id = await at_work(fleet, "look")

    async with asyncio.timeout(LONG):
        (stopped,) = await (await home.open()).cancel(run_id, ALICE)

    assert stopped.state is CANCELLED
    assert (await fleet.row(run_id)).executor == "south 1"


async def test_a_frozen_process_that_goes_on_changes_nothing(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "wait")
    await fleet.forget(worker)
    await until_state(home, run_id, RUNNING, count=2)
    worker.children.waits.set()

    await worker.thaw()
    await worker.sessions.close()
    row = await fleet.row(run_id)
    assert (row.state, row.executor, row.fence) == (RUNNING, "north 2", 2)

    home.children.waits.set()
    await until_brought(home)
    assert home.brought() == [(run_id,)]


async def test_a_home_that_was_killed_delivers_when_it_is_back(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "look")
    await fleet.kill(home)
    back = await fleet.process(HOME)
    worker.children.let("look")
    await back.until_over(run_id)

    await until_brought(back)

    assert back.brought() == [(run_id,)]
    assert home.brought() == []


async def test_notes_that_are_posted_at_the_same_time_all_stay(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    other = await fleet.process(OTHER)
    turn = await home.turn()

    async def post(process: Process, turn: Turn, text: str) -> int:
        board = (await process.open()).board
        return (await board.post("message", text, turn)).seq

    texts = [f"{number} from {place}" for number in range(10) for place in (HOME, OTHER)]
    numbers = await asyncio.gather(
        *(post(home if HOME in text else other, turn, text) for text in texts)
    )

    assert sorted(numbers) == list(range(1, 21))
    stored = await fleet.inner.load_shared_entries(turn.session)
    assert sorted(note.content for note in stored) == sorted(texts)


async def test_a_chat_that_moves_takes_its_runs_along(fleet: Fleet) -> None:
    worker, home, run_id = await at_work(fleet, "look")
    other = await fleet.process(OTHER)

    await other.end(await other.turn())
    worker.children.let("look")
    await until_brought(other)

    assert other.brought() == [(run_id,)]
    assert home.brought() == []
