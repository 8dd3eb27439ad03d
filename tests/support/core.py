"""A core with fakes around it, for tests: one composition root, its turns and its tools.

A test module takes the fixture by naming it: `make_core = core.make_core`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, cast

import pytest

from astrbot_plugin_subagents.manager import (
    DynamicAgentSettings,
    Run,
    Settings,
    SubAgentManager,
    Turn,
    TurnEnd,
)
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.events import Event, RunChanged
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    Asker,
    ConversationId,
    DeliveryState,
    MessageBody,
    OwnerId,
    RunState,
    SessionId,
    SubAgentConfig,
)
from astrbot_plugin_subagents.manager.sessions import Sessions
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.manager.store import MemoryStore, Store
from astrbot_plugin_subagents.manager.store.protocol_pages import StorePages
from astrbot_plugin_subagents.manager.tasks import ForkContexts, no_fork_context
from astrbot_plugin_subagents.manager.testing import (
    EPOCH,
    FakeClock,
    FakeHost,
    Hang,
    Script,
    make_services,
)
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from astrbot_plugin_subagents.subagent_tools import (
    CallContext,
    call_tool,
    child_tools,
    management_tools,
    transfer_tool,
    turn_notes,
)

LONG = 5.0
"""Seconds after which a test that waits has failed."""


class Core:
    """One composition root: sessions over fakes, and everything that was told on its bus."""

    def __init__(  # noqa: PLR0913 - a test names what it needs, the rest has defaults
        self,
        files: Path,
        *,
        host: FakeHost | None = None,
        store: Store | None = None,
        settings: Settings | None = None,
        clock: FakeClock | None = None,
        executor: str = "process1",
        static: Sequence[str] = (),
        messenger: FakeMessenger | None = None,
        live_settings: Callable[[], Settings] | None = None,
    ) -> None:
        self.static = tuple(StaticAgentSettings(name=name) for name in static)
        self.host = host or FakeHost()
        self.clock = clock or FakeClock()
        self.store: Store = store or MemoryStore()
        self.services = make_services(
            self.store,
            files,
            host=self.host,
            settings=settings,
            clock=self.clock,
            executor=executor,
        )
        if live_settings is not None:
            self.services = replace(self.services, settings=live_settings)
        if messenger is not None:
            self.services = replace(self.services, messenger=messenger, child_tools=child_tools)
        self.sessions = Sessions(self.services)
        if messenger is not None:
            messenger.open_session = self.sessions.open
        self.fork_context: ForkContexts = no_fork_context
        """What the main agent's model was sent, for the tool `task`."""
        self.events: list[Event] = []
        self._changed = asyncio.Event()
        self.services.bus.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    async def __aenter__(self) -> Self:
        await self.sessions.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        async with asyncio.timeout(LONG):
            await self.sessions.close()

    async def open(self, session: str = "chat") -> SubAgentManager:
        """The manager of a session, with the static agents that are configured."""
        manager = await self.sessions.open(SessionId(session))
        manager.set_static(self.static)
        return manager

    async def turn(
        self,
        owner: str = "alice",
        *,
        session: str = "chat",
        is_admin: bool = False,
        is_alone: bool = False,
    ) -> Turn:
        """A turn of a user that has begun."""
        turn = Turn(
            turn_id=self.clock.new_id(),
            session=SessionId(session),
            asker=Asker(owner=OwnerId(owner), is_admin=is_admin, is_alone=is_alone),
        )
        (await self.open(session)).begin_turn(turn)
        return turn

    async def call(
        self, tool: str, turn: Turn, /, seconds_left: float = 60, **arguments: Any
    ) -> str:
        """Call a tool as the main model does."""
        manager = await self.open(turn.session)
        specs = [
            *management_tools(manager.settings),
            *(transfer_tool(config) for config in manager.agents()),
        ]
        spec = next(spec for spec in specs if spec.name == tool)
        context = CallContext(
            manager=manager,
            turn=turn,
            seconds_left=lambda: seconds_left,
            fork_context=self.fork_context,
        )
        async with asyncio.timeout(LONG):
            return await call_tool(spec, context, arguments)

    async def create(self, name: str, turn: Turn, **arguments: Any) -> SubAgentConfig:
        """Make an agent that must come into being."""
        arguments.setdefault("system_prompt", f"You are {name}.")
        await self.call("create_subagent", turn, name=name, **arguments)
        manager = await self.open(turn.session)
        return next(config for config in manager.agents() if config.name == name)

    async def end(self, turn: Turn, end: TurnEnd = TurnEnd.ANSWERED) -> None:
        """A turn ends."""
        async with asyncio.timeout(LONG):
            await (await self.open(turn.session)).end_turn(turn, end=end)

    async def notes(self, turn: Turn) -> str:
        """What the main agent is told at the head of a turn."""
        async with asyncio.timeout(LONG):
            return await turn_notes(await self.open(turn.session), turn)

    async def run(self, run_id: str, session: str = "chat") -> Run:
        """A run as it stands."""
        return await (await self.open(session)).runs.find(run_id)

    async def until(self, holds: Callable[[Event], bool], *, count: int = 1) -> None:
        """Wait until that many events of a kind were told, earlier ones included."""
        async with asyncio.timeout(LONG):
            while sum(map(holds, self.events)) < count:
                self._changed.clear()
                await self._changed.wait()

    async def until_over(self, *run_ids: str) -> None:
        """Wait until these runs have ended."""
        for run_id in run_ids:
            await self.until(lambda event, run_id=run_id: run_id in ended_ids([event]))  # type: ignore[misc] # bound per run

    async def stored_messages(self, config: SubAgentConfig) -> list[MessageBody]:
        """The conversation of an agent as it stands in the store."""
        rows = await self.store.load_messages(config.conversation, newest=10_000)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        return [row.body for row in rows]


type MakeCore = Callable[..., Awaitable[Core]]
"""Makes cores that are closed at the end of the test; takes a script, or what `Core` takes."""


@pytest.fixture
async def make_core(tmp_path: Path) -> AsyncIterator[MakeCore]:
    """Makes started cores; at the end each must close without leaving a task behind."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:

        async def make(script: Script | None = None, **arguments: Any) -> Core:
            arguments.setdefault("host", FakeHost(script))
            return await stack.enter_async_context(Core(tmp_path, **arguments))

        yield make
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


def ended_ids(events: list[Event]) -> list[str]:
    """Ids of the runs that ended, once for each time that was told."""
    return [
        event.run.run_id for event in events if isinstance(event, RunChanged) and event.run.is_over
    ]


def states_of(events: list[Event], run_id: str) -> list[RunState]:
    """The states that a run was told to be in."""
    return [
        event.run.state
        for event in events
        if isinstance(event, RunChanged) and event.run.run_id == run_id
    ]


def task_id(reply: str) -> str:
    """The first task id that a reply names."""
    return reply.split("task_id: ", 1)[1].split()[0]


async def settled() -> None:
    """Let everything run that can run now; nothing here waits for time to pass."""
    for _ in range(100):
        await asyncio.sleep(0)


@dataclass(slots=True, kw_only=True)
class Hold:
    """Stops a call of the store until a test lets it go on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    after: bool = False
    """Stop once the work is done, before the caller is told."""

    async def stop(self) -> None:
        """Say that the call is here and wait."""
        self.reached.set()
        await self.gate.wait()


class TroubledStore:
    """A store whose methods fail or wait when a test says so."""

    def __init__(self, inner: Store | None = None) -> None:
        self.inner = inner or MemoryStore()
        self.failing: set[str] = set()
        self.holds: dict[str, Hold] = {}
        self.calls: list[str] = []

    @property
    def store(self) -> Store:
        """Itself, as what it stands for."""
        return cast("Store", self)

    @property
    def pages(self) -> StorePages:
        """What the dashboard reads; these looks never fail."""
        return self.inner.pages

    def hold(self, method: str, *, after: bool = False) -> Hold:
        """Stop the calls of a method until the hold's gate is opened."""
        self.holds[method] = Hold(after=after)
        return self.holds[method]

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        work = getattr(self.inner, method)

        async def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append(method)
            if method in self.failing:
                raise StoreUnavailable("the disk is full")
            hold = self.holds.get(method)
            if hold is not None and not hold.after:
                await hold.stop()
            result = await work(*arguments, **named)
            if hold is not None and hold.after:
                await hold.stop()
            return result

        return call


async def snapshot(core: Core, session: str = "chat") -> tuple[object, ...]:
    """All that a refused call must leave as it was, in memory and in the store."""
    manager = await core.open(session)
    overview = await manager.overview()
    return (
        overview,
        await core.store.load_agents(manager.session),
        await core.store.list_runs(manager.session),
        await core.store.load_deliveries(manager.session, states=tuple(DeliveryState)),
        list(core.events),
    )


def an_agent(name: str, **changes: Any) -> SubAgentConfig:
    """An agent as a session has it."""
    config = SubAgentConfig(
        name=AgentName(name),
        system_prompt=f"You are {name}.",
        owner=OwnerId("alice"),
        conversation=ConversationId(f"memory of {name}"),
        created_at=EPOCH,
    )
    return replace(config, **changes)


def many_agents(**changes: Any) -> Settings:
    """Settings under which the number of agents is no matter."""
    return Settings(dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=50), **changes)


def keys_in(node: object) -> set[str]:
    """Every key of a JSON value, but for the names of properties."""
    if isinstance(node, list):
        return set().union(*map(keys_in, node))
    if not isinstance(node, dict):
        return set()
    inner = [
        value
        for key, child in node.items()
        for value in (child.values() if key == "properties" else [child])
    ]
    return set(node) | keys_in(inner)


def values_in(node: object) -> list[object]:
    """Every plain value of a JSON value."""
    if isinstance(node, dict):
        return [value for child in node.values() for value in values_in(child)]
    if isinstance(node, list):
        return [value for child in node for value in values_in(child)]
    return [node]


def replies_by_task(**scripts: Script) -> Script:
    """A script for each task text."""
    chosen: Mapping[str, Script] = scripts
    return lambda request: chosen[request.prompt](request)


__all__ = [
    "LONG",
    "AgentName",
    "Core",
    "Hang",
    "Hold",
    "MakeCore",
    "SessionId",
    "TroubledStore",
    "an_agent",
    "ended_ids",
    "keys_in",
    "make_core",
    "many_agents",
    "replace",
    "replies_by_task",
    "settled",
    "snapshot",
    "states_of",
    "task_id",
    "values_in",
]
