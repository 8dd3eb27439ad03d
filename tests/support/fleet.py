"""Several cores over one store, as processes that share the work; their children wait to be let go.

A test module takes the fixture by naming it: `fleet = fleets.fleet`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, override

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Turn, TurnEnd
from astrbot_plugin_subagents.manager.events import EventBus
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.models import Delivery, DeliveryState, RunId, SessionId
from astrbot_plugin_subagents.manager.sessions import Sessions
from astrbot_plugin_subagents.manager.store import MemoryStore, SqlStore, Store
from astrbot_plugin_subagents.manager.testing import Act, FakeClock, FakeHost
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from astrbot_plugin_subagents.manager.workers.testing import Exchange, MemorySignals, StoreDoor
from astrbot_plugin_subagents.subagent_tools import child_tools

from .asking import QUESTION, Asking, a_question
from .core import Core, settled, states_of, task_id
from .stores import opened, server_schema
from .task_calls import Crew as TaskChildren
from .task_calls import own_text

HOME, WORKER, OTHER = "north", "south", "west"
AGENTS = ("ann", "ben", "cat")


class Children(Asking):
    """Children that `ask` or `wait` in a tool; all others hang in their first model call."""

    def __init__(self) -> None:
        super().__init__(a_question(QUESTION))

    @override
    def script(self, request: AgentRequest) -> Sequence[Act]:
        """What the child of a request does."""
        text = own_text(request)
        is_busy = "ask" in text or "wait" in text
        return super().script(request) if is_busy else TaskChildren.script(self, request)


class Process(Core):
    """One core among others."""

    def __init__(
        self, files: Path, fleet: "Fleet", home: str, life: int, *, places: int, **arguments: Any
    ) -> None:
        self.children = Children()
        self.messenger = FakeMessenger()
        self.door = fleet.door()
        arguments.setdefault("tools", ("search", "write"))
        host = FakeHost(self.children.script, tools=arguments.pop("tools"))
        super().__init__(
            files,
            host=host,
            store=self.door.store,
            clock=fleet.clock,
            executor=f"{home} {life}",
            static=AGENTS,
            **arguments,
        )
        sharing = fleet.exchange.sharing(home, places=places)
        self.sharing = replace(sharing, static_agents=lambda: self.static)
        self.services = replace(
            self.services,
            # the core's first sessions, which are never started, listen to the other one
            bus=EventBus(),
            messenger=self.messenger,
            child_tools=child_tools,
            sharing=self.sharing,
        )
        self.services.bus.subscribe(self._hear)
        self.sessions = Sessions(self.services)
        self.messenger.open_session = self.sessions.open

    @override
    async def turn(self, owner: str = "alice", *, session: str = "chat", **more: bool) -> Turn:
        """A turn of a user that has begun: the session is this process's from now on."""
        await self.sessions.open_here(SessionId(session))
        return await super().turn(owner, session=session, **more)

    async def begin(self, turn: Turn, *tasks: str, agent: str = "ann") -> list[str]:
        """Give an agent tasks in the background; their ids."""
        tool = f"transfer_to_{agent}"
        return [
            task_id(await self.call(tool, turn, input=task, background_task=True)) for task in tasks
        ]

    async def after_turn(self, *tasks: str, agent: str = "ann") -> list[str]:
        """Let a turn begin tasks in the background and end; their ids."""
        turn = await self.turn()
        ids = await self.begin(turn, *tasks, agent=agent)
        await self.end(turn, TurnEnd.ANSWERED)
        return ids

    def states(self, run_id: str) -> list[RunState]:
        """The states that a run was told to be in here."""
        return states_of(self.events, run_id)

    def brought(self) -> list[tuple[str, ...]]:
        """The results that each wake-up turn of this process was handed."""
        return [ids for _, ids in self.messenger.ended]

    def freeze(self) -> None:
        """Nothing of this process reaches the store until it is thawed."""
        self.door.going.clear()

    async def thaw(self) -> None:
        """The process goes on."""
        self.door.going.set()
        await settled()


class Fleet:
    """The processes of one test, their store and what joins them."""

    def __init__(
        self, files: Path, stack: AsyncExitStack, inner: Store, door: Callable[[], StoreDoor]
    ) -> None:
        self.inner = inner
        """What the test looks through."""
        self.door = door
        """A process's own way to the same store."""
        self.clock = FakeClock()
        self.exchange = Exchange()
        self._files = files
        self._stack = stack
        self._lives = 0
        self._processes: list[Process] = []

    async def process(self, home: str, *, places: int = 8, **arguments: Any) -> Process:
        """Start a process; one of the same home is its next life."""
        self._lives += 1
        folder = self._files / home
        arguments.setdefault("life", self._lives)
        process = Process(folder, self, home, places=places, **arguments)
        self._processes.append(process)
        return await self._stack.enter_async_context(process)

    async def kill(self, process: Process) -> None:
        """End a process without a word, as `kill -9` does; what it had is brought to others."""
        process.freeze()
        signals = process.sharing.signals
        assert isinstance(signals, MemorySignals)
        self.exchange.signals.remove(signals)
        self.exchange.die(process.sharing.home)
        await settled()

    async def forget(self, process: Process) -> None:
        """Find a process dead that is only frozen: what it had is brought to others."""
        process.freeze()
        self.exchange.die(process.sharing.home)
        await settled()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and have all happen that follows from it."""
        self.clock.advance(seconds)
        await settled()

    async def row(self, run_id: str) -> Run:
        """A run as it stands in the store."""
        run = await self.inner.find_run(RunId(run_id))
        assert run is not None
        return run

    async def deliveries(self, session: str = "chat") -> list[Delivery]:
        """The chat's outbox as it is stored."""
        return await self.inner.load_deliveries(SessionId(session), states=list(DeliveryState))

    def thaw_all(self) -> None:
        """Let the dead be closed, too, at the end of a test."""
        for process in self._processes:
            process.door.going.set()


@pytest.fixture
async def server_fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Processes over one schema of a PostgreSQL server, each with connections of its own."""
    async with (
        server_schema() as url,
        opened(SqlStore(url)) as inner,
        AsyncExitStack() as stack,
    ):
        made = Fleet(tmp_path, stack, inner, lambda: StoreDoor(SqlStore(url), is_own=True))
        yield made
        made.thaw_all()


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Processes over one store in memory; at the end each must close without leaving a task."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        store = MemoryStore()
        await store.open()
        made = Fleet(tmp_path, stack, store, lambda: StoreDoor(store))
        yield made
        made.thaw_all()
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()
