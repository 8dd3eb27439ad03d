"""Processes that share the work of one store, for tests of what stands behind the ports."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

import pytest

from astrbot_plugin_subagents.manager.models import RunId
from astrbot_plugin_subagents.manager.store.address import ServerAddress, parse_address
from astrbot_plugin_subagents.manager.workers.engine import Pace
from astrbot_plugin_subagents.manager.workers.ports import Sharing, Signals, Workforce
from astrbot_plugin_subagents.manager.workers.postgres import PostgresSharing
from astrbot_plugin_subagents.manager.workers.testing import Exchange
from support import stores

QUICK = Pace(beat=0.1, stalled=0.8, poll=0.5, reconnect=0.1, answer=1.0)
LIMIT_SECONDS = 20.0
_SERVERS = (pytest.param("postgres", marks=pytest.mark.postgres),) if stores.SERVER else ()


@dataclass(slots=True)
class Worker:
    """One process, as a test sees it: it executes runs when it is told to let them end."""

    home: str
    part: Callable[[], Awaitable[None]]
    """Part from the others in order, for good."""
    workforce: Workforce
    signals: Signals
    began: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Runs that `execute` was called with, in order."""
    ended: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Runs whose `execute` returned, and `cancelled <run>`."""
    gates: dict[str, asyncio.Event] = field(default_factory=dict)

    async def execute(self, run_id: RunId) -> None:
        """Begin, wait until `finish`, and end."""
        gate = self.gates.setdefault(run_id, asyncio.Event())
        await self.began.put(run_id)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            await self.ended.put(f"cancelled {run_id}")
            raise
        await self.ended.put(run_id)

    def finish(self, run_id: str) -> None:
        """Let a run end, now or when it has begun."""
        self.gates.setdefault(run_id, asyncio.Event()).set()

    async def next_begun(self) -> str:
        """The next run that begins here."""
        async with asyncio.timeout(LIMIT_SECONDS):
            return await self.began.get()

    async def next_ended(self) -> str:
        """The next run that ends here."""
        async with asyncio.timeout(LIMIT_SECONDS):
            return await self.ended.get()

    async def works(self) -> "Worker":
        """Begin to work."""
        await self.workforce.start(self.execute)
        return self


def worker_of(sharing: Sharing, part: Callable[[], Awaitable[None]]) -> Worker:
    """The test's view of one process."""
    home, workforce, signals = sharing.home, sharing.workforce, sharing.signals
    return Worker(home=home, part=part, workforce=workforce, signals=signals)


def dsn_of(url: str) -> str:
    """What the engine connects with, of a setting `database_url`."""
    address = parse_address(url)
    assert isinstance(address, ServerAddress)
    return address.dsn


class AnyCrew(Protocol):
    """Makes processes that share the work of one store."""

    async def worker(self, home: str, *, places: int = 100) -> Worker:
        """A process that does not work yet, and will do so many runs at once."""
        ...


class MemoryCrew:
    """They meet in memory."""

    def __init__(self) -> None:
        self.exchange = Exchange()

    async def worker(self, home: str, *, places: int = 100) -> Worker:
        """See `AnyCrew.worker`."""
        sharing = self.exchange.sharing(home, places=places)
        return worker_of(sharing, sharing.workforce.close)


class Crew:
    """They meet in PostgreSQL; those that are left are closed at the end."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self.url = url
        self._stack = stack

    async def worker(self, home: str, *, places: int = 100, pace: Pace = QUICK) -> Worker:
        """See `AnyCrew.worker`."""
        dsn = dsn_of(self.url)
        shared = PostgresSharing(dsn, home=home, places=lambda n: n < places, pace=pace)
        self._stack.push_async_callback(shared.close)
        await shared.open()
        return worker_of(shared.sharing, shared.close)


@pytest.fixture(params=["memory", *_SERVERS])
async def any_crew(request: pytest.FixtureRequest) -> AsyncIterator[AnyCrew]:
    """Processes that share an empty store, of each kind in turn."""
    if request.param == "memory":
        crew = MemoryCrew()
        yield crew
        for workforce in tuple(crew.exchange.workforces):
            await workforce.close()
    else:
        async with stores.server_schema() as url, crew_of(url) as made:
            yield made


@pytest.fixture
async def crew() -> AsyncIterator[Crew]:
    """Processes that share an empty store on the server of TEST_DATABASE_URL."""
    async with stores.server_schema() as url, crew_of(url) as made:
        yield made


@asynccontextmanager
async def crew_of(url: str) -> AsyncIterator[Crew]:
    """Processes that share the store of this address; their jobs are deleted at the end."""
    async with AsyncExitStack() as stack:
        yield Crew(url, stack)
    await on_database(url, "DROP SCHEMA IF EXISTS " + await jobs_schema(url) + " CASCADE")


async def jobs_schema(url: str) -> str:
    """Where procrastinate's tables are for a store of this address."""
    rows = await on_database(url, "SELECT current_schema()")
    own = str(rows[0][0])
    return "subagents_jobs" if own == "public" else f"{own}_subagents_jobs"


async def on_database(url: str, statement: str) -> list[tuple[object, ...]]:
    """Run a statement past everything of ours."""
    driver = import_module("asyncpg")
    connection = await driver.connect(dsn_of(url))
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()
