"""Public doubles: a workforce and signals in memory, for several cores in one process.

`Exchange` stands for the engine and the network between the processes. A process of a test can
freeze, die and come back; a signal can be lost.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import StoreUnavailable
from ..models import RunId
from ..store.protocol import Store
from ..store.protocol_pages import StorePages
from .ports import Sharing, Signal

type _Execute = Callable[[RunId], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class _Job:
    """A run on its way or at work."""

    run_id: RunId
    only: str
    at: "MemoryWorkforce | None" = None


class Exchange:
    """What joins the processes: it brings a job to the first that may have it, signals to all."""

    def __init__(self) -> None:
        self.jobs: list[_Job] = []
        self.workforces: list[MemoryWorkforce] = []
        """In the order in which they get jobs."""
        self.signals: list[MemorySignals] = []
        self.is_losing_signals = False
        self.brought: list[tuple[str, RunId]] = []
        """To which home which run was brought, in their order."""

    def sharing(self, home: str, *, places: int = 8) -> Sharing:
        """The ports of one more process.

        Args:
            home: Its name.
            places: How many runs it executes at once.
        """
        signals = MemorySignals(self)
        self.signals.append(signals)
        return Sharing(home=home, signals=signals, workforce=MemoryWorkforce(self, home, places))

    def bring(self) -> None:
        """Bring what is on its way to who has a place."""
        for job in [job for job in self.jobs if job.at is None]:
            at_work = {other.run_id for other in self.jobs if other.at is not None}
            for workforce in self.workforces if job.run_id not in at_work else ():
                if workforce.takes(job):
                    self.brought.append((workforce.home, job.run_id))
                    workforce.begin(job)
                    break

    def die(self, home: str) -> None:
        """Find that a process is gone: others get what it had, and it is told nothing more."""
        for workforce in [each for each in self.workforces if each.home == home]:
            self.workforces.remove(workforce)
            for job in self.jobs:
                if job.at is workforce:
                    job.at = None
        self.bring()


class MemorySignals:
    """See `Signals`."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._heard: list[tuple[Callable[[Signal], None], Callable[[], None]]] = []

    async def tell(self, signal: Signal) -> None:
        """See `Signals.tell`."""
        if self._exchange.is_losing_signals:
            return
        for each in tuple(self._exchange.signals):
            each.hear(signal)

    def subscribe(
        self, heard: Callable[[Signal], None], missed: Callable[[], None]
    ) -> Callable[[], None]:
        """See `Signals.subscribe`."""
        self._heard.append((heard, missed))

        def unsubscribe() -> None:
            if (heard, missed) in self._heard:
                self._heard.remove((heard, missed))

        return unsubscribe

    def hear(self, signal: Signal) -> None:
        """A signal has come."""
        for heard, _ in tuple(self._heard):
            heard(signal)

    def reconnect(self) -> None:
        """The connection was gone for a while."""
        for _, missed in tuple(self._heard):
            missed()


class MemoryWorkforce:
    """See `Workforce`."""

    def __init__(self, exchange: Exchange, home: str, places: int) -> None:
        self.home = home
        self._exchange = exchange
        self._places = places
        self._execute: _Execute | None = None
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._waiting: set[RunId] = set()

    async def start(self, execute: _Execute) -> None:
        """See `Workforce.start`."""
        self._execute = execute
        self._exchange.workforces.append(self)
        self._exchange.bring()

    async def close(self) -> None:
        """See `Workforce.close`."""
        if self in self._exchange.workforces:
            self._exchange.workforces.remove(self)
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def send(self, run_id: RunId, *, only: str = "") -> None:
        """See `Workforce.send`."""
        known = [job for job in self._exchange.jobs if job.run_id == run_id]
        is_mine = any(job.at is self for job in known)
        if not known or (only and is_mine and len(known) == 1):
            self._exchange.jobs.append(_Job(run_id=run_id, only=only))
            self._exchange.bring()

    async def lost(self, run_ids: Collection[RunId]) -> list[RunId]:
        """See `Workforce.lost`."""
        known = {job.run_id for job in self._exchange.jobs}
        return [run_id for run_id in run_ids if run_id not in known]

    def takes(self, job: _Job) -> bool:
        """Whether this process may have a job, and has a place for it."""
        at_work = len(self._tasks.keys() - self._waiting)
        return job.only in ("", self.home) and at_work < self._places

    def waits(self, run_id: RunId, waiting: bool) -> None:
        """See `Workforce.waits`."""
        (self._waiting.add if waiting else self._waiting.discard)(run_id)
        self._exchange.bring()

    def begin(self, job: _Job) -> None:
        """A job is brought to this process."""
        if self._execute is None:
            return
        job.at = self
        task = asyncio.ensure_future(self._execute(job.run_id))
        self._tasks[job.run_id] = task

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.pop(job.run_id, None)
            self._waiting.discard(job.run_id)
            if job.at is self:
                if task.cancelled():
                    job.at = None
                else:
                    self._exchange.jobs.remove(job)
            self._exchange.bring()

        task.add_done_callback(end)


@dataclass(slots=True)
class StoreDoor:
    """One process's way to a store that others use too: it opens, closes and freezes by itself."""

    inner: Store
    is_own: bool = False
    """Whether nobody else has the inner store, so that it is closed with the door."""
    is_open: bool = False
    going: asyncio.Event = field(default_factory=asyncio.Event)
    """Not set while the process is frozen: then nothing of it reaches the store."""

    def __post_init__(self) -> None:
        self.going.set()

    @property
    def store(self) -> Store:
        """Itself, as what it stands for."""
        return cast("Store", self)

    @property
    def pages(self) -> StorePages:
        """See `Store.pages`; looks go on while the process is frozen."""
        return self.inner.pages

    async def open(self) -> None:
        """See `Store.open`."""
        if not self.is_open:
            await self.inner.open()
            self.is_open = True

    async def close(self) -> None:
        """Close this way to the store."""
        self.is_open = False
        if self.is_own:
            await self.inner.close()

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        work = getattr(self.inner, method)

        async def call(*arguments: Any, **named: Any) -> Any:
            await self.going.wait()
            if not self.is_open:
                raise StoreUnavailable("it is not open")
            return await work(*arguments, **named)

        return call
