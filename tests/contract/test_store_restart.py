"""A PostgreSQL server that restarts while runs are at work: they go on, and nothing is lost."""

import asyncio
from collections.abc import Sequence

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.events import Event, ToolStarted
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.models import DeliveryState, StepState
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.testing import Act, FakeHost, Say, Use
from support import core, postgres_server
from support.postgres_server import PostgresServer, StopMode
from support.task_calls import a_task, own_text, start

pytestmark = [pytest.mark.postgres, postgres_server.needs_programs]

make_core = core.make_core
private_cluster = postgres_server.private_cluster
private_server = postgres_server.private_server

TASKS = tuple(f"task{number}" for number in range(8))
STEPS = 6
MISSED_ENDS_SECONDS = 10


class Writers:
    """Children that write in each step; in one of them they wait until they are let.

    Attributes:
        gate: Opens the way on.
    """

    def __init__(self, *, waits_in: int | None = None) -> None:
        self.gate = asyncio.Event()
        self._waits_in = waits_in

    def script(self, request: AgentRequest) -> Sequence[Act]:
        """What the child of a task does, from the step that it has come to."""
        text = own_text(request)
        done = sum(body["role"] == "tool" for body in request.resume)
        acts: list[Act] = []
        for step in range(done, STEPS):
            gate = self.gate if step == self._waits_in else None
            acts.append(Use(tool="write", arguments=f'{{"line": "{text} {step}"}}', gate=gate))
        return [*acts, Say(text=f"{text} done")]


def is_a_call(event: Event) -> bool:
    """Whether a tool was called, its intent written."""
    return isinstance(event, ToolStarted)


def talk(task: str) -> list[tuple[str, object]]:
    """What is kept of a run: roles and texts."""
    steps: list[tuple[str, object]] = [("assistant", None), ("tool", "ok")]
    return [("user", task), *steps * STEPS, ("assistant", f"{task} done")]


async def talk_of(store: SqlStore, run: Run) -> list[tuple[str, object]]:
    rows = await store.load_messages(run.conversation, newest=1000)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    return [(row.body["role"], row.body["content"]) for row in rows]


async def assert_all_is_kept(store: SqlStore, turn: Turn) -> None:
    """Every run has come to its end, with each step and each message once, and one delivery."""
    runs = {run.input: run for run in await store.list_runs(turn.session)}
    assert {task: run.state for task, run in runs.items()} == dict.fromkeys(
        TASKS, RunState.COMPLETED
    )
    for task, run in runs.items():
        assert await talk_of(store, run) == talk(task)
        steps = [(step.state, step.arguments) for step in await store.run_steps(run.run_id)]
        assert steps == [(StepState.DONE, f'{{"line": "{task} {step}"}}') for step in range(STEPS)]
    rows = await store.load_deliveries(turn.session, states=tuple(DeliveryState))
    assert sorted(row.delivery_id for row in rows) == sorted(run.run_id for run in runs.values())


@pytest.fixture
async def store(private_server: PostgresServer) -> SqlStore:
    """A store in a database of its own; the test's core opens it and closes it."""
    return SqlStore(await private_server.new_database())


async def a_core(
    make_core: core.MakeCore, store: SqlStore, writers: Writers, **more: object
) -> core.Core:
    settings = Settings(max_parallel_per_session=len(TASKS))
    return await make_core(host=FakeHost(writers.script), store=store, settings=settings, **more)


async def started(it: core.Core) -> tuple[Turn, list[str]]:
    turn = await it.turn()
    runs = await start(it, turn, *(a_task(task) for task in TASKS))
    return turn, [run.run_id for run in runs]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_runs_go_on_while_the_server_restarts_under_them(
    make_core: core.MakeCore,
    store: SqlStore,
    private_server: PostgresServer,
    caplog: pytest.LogCaptureFixture,
    mode: StopMode,
) -> None:
    writers = Writers(waits_in=STEPS - 1)
    it = await a_core(make_core, store, writers)
    turn, ids = await started(it)
    await it.until(is_a_call, count=len(TASKS))

    await private_server.stop(mode)
    writers.gate.set()
    await private_server.start()
    await it.until_over(*ids)
    it.clock.advance(MISSED_ENDS_SECONDS)
    reply = await it.call("wait_for_subagent", turn, task_id=ids)
    await it.end(turn)

    assert "could not be recorded yet" in caplog.text
    assert reply.count("state: completed") == len(TASKS)
    await assert_all_is_kept(store, turn)


async def test_ends_that_came_while_the_server_was_away_are_written_when_it_is_back(
    make_core: core.MakeCore, store: SqlStore, private_server: PostgresServer
) -> None:
    writers = Writers(waits_in=2)
    it = await a_core(make_core, store, writers)
    turn, ids = await started(it)
    await it.until(is_a_call, count=3 * len(TASKS))

    await private_server.stop("immediate")
    writers.gate.set()
    await it.until_over(*ids)
    reply = await it.call("wait_for_subagent", turn, task_id=ids)
    new = await it.call("task", turn, task="more")
    await private_server.start()
    it.clock.advance(MISSED_ENDS_SECONDS)
    await it.end(turn)

    assert reply.count("state: completed") == len(TASKS)
    assert new.startswith("Error: The store cannot be used:")
    assert "Nothing was started" in new
    await assert_all_is_kept(store, turn)


async def test_a_bot_and_a_server_that_die_together_take_the_runs_up_again(
    make_core: core.MakeCore, store: SqlStore, private_server: PostgresServer
) -> None:
    writers = Writers(waits_in=2)
    it = await a_core(make_core, store, writers)
    _, ids = await started(it)
    await it.until(is_a_call, count=3 * len(TASKS))

    private_server.kill()
    await it.sessions.close()
    with pytest.raises(StoreUnavailable):
        await store.open()
    await private_server.start()
    root = await a_core(make_core, store, Writers(), clock=it.clock, executor="process2")
    await root.until_over(*ids)

    notes = [request.notes[-1] for request in root.host.requests]
    assert [note.count("outcome unknown") for note in notes] == [1] * len(TASKS)
    assert [len(request.resume) for request in root.host.requests] == [5] * len(TASKS)
    runs = [await root.run(run_id) for run_id in ids]
    assert [(run.state, run.fence) for run in runs] == [(RunState.COMPLETED, 2)] * len(TASKS)
    assert [await talk_of(store, run) for run in runs] == [talk(task) for task in TASKS]
