"""Sessions: from a session's id to its manager. Opens, lets idle ones go, closes all."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from .artifacts import keep_artifacts
from .errors import ShuttingDown
from .expiry import Expiry, erase, is_unused
from .manager import SubAgentManager
from .models import Delivery, Run, SessionId, SessionRecord, StopReason
from .runs.budget import DayTokens, day_start
from .runs.endings import stopped
from .runs.line import Caps
from .runs.shielding import carry_through
from .runs.supervisor import Supervisor
from .services import Services
from .store.protocol import RunWrite
from .store.rows import DamagedRow

logger = logging.getLogger(__name__)

LOADED_AT_MOST = 256
"""Idle sessions beyond this many leave memory, the longest unused first."""


class Sessions:
    """All sessions of one bot. Owns the store and the supervisor."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._supervisor = Supervisor(self._caps)
        self._managers: dict[SessionId, SubAgentManager] = {}
        self._locks = _Locks()
        self._expiry = Expiry(services, let_go=self._delete_unused)
        self._closed = False

    async def start(self) -> None:
        """Open the store and look after runs that were cut off.

        Runs of this process (the plugin was reloaded) go on; those of another (the bot was
        restarted) end as interrupted, with what they had, and their results are delivered. One
        that cannot be read, or whose session cannot, is logged and left as it is.

        Raises:
            StoreError: The store cannot be used.
        """
        store = self._services.store
        await store.open()
        await store.release_claims()
        unfinished = await store.unfinished_runs()
        own = [run for run in unfinished if run.executor == self._services.executor]
        # first those that end: a session reads its open deliveries when it is opened
        for run in unfinished:
            if run.executor != self._services.executor:
                await self._interrupt(run)
        for run in own:
            await self._take_up(run)
        self._supervisor.start(self._expiry.watch(), name="session expiry")

    async def open(self, session: SessionId) -> SubAgentManager:
        """The session's manager, loaded from the store when it is not in memory.

        Raises:
            ShuttingDown: All sessions are being closed.
            StoreError: The store cannot be read.
        """
        if self._closed:
            raise ShuttingDown
        if (manager := self._managers.get(session)) is not None:
            # the most recently used one stands last
            self._managers[session] = self._managers.pop(session)
            return manager
        async with self._locks.hold(session):
            if session not in self._managers:
                manager = await self._load(session)
                if self._closed:
                    raise ShuttingDown
                self._managers[session] = manager
                self._let_idle_go()
        return self._managers[session]

    def loaded(self, session: SessionId) -> SubAgentManager | None:
        """The session's manager if it is in memory."""
        return self._managers.get(session)

    async def end_all(self, session: SessionId, reason: StopReason) -> None:
        """Stop the live runs of a session."""
        if (manager := self._managers.get(session)) is not None:
            await manager.stop_all(reason)

    async def close(self) -> None:
        """Stop everything and close the store; unfinished runs stay to be taken up."""
        self._closed = True
        try:
            await self._supervisor.close()
            for manager in self._managers.values():
                await manager.runs.write_missed()
        finally:
            self._managers.clear()
            await self._services.store.close()

    async def _load(self, session: SessionId) -> SubAgentManager:
        store, now = self._services.store, self._services.clock.now()
        record = await store.load_session(session)
        if record is None:
            # not stored: the store makes a record with the first thing that is to be kept
            record = SessionRecord(session=session, created_at=now, last_active_at=now)
        today = day_start(now)
        manager = SubAgentManager(
            session,
            self._services,
            self._supervisor,
            record=record,
            agents=await store.load_agents(session),
            day=DayTokens(day_start=today, used=await store.tokens_used(session, today)),
        )
        await manager.load()
        return manager

    def _let_idle_go(self) -> None:
        surplus = len(self._managers) - LOADED_AT_MOST
        idle = [session for session, manager in self._managers.items() if manager.is_idle()]
        # the one that was just opened stands last and stays
        for session in idle[:-1][: max(0, surplus)]:
            del self._managers[session]

    async def _delete_unused(self, session: SessionId, since: datetime) -> bool:
        """Delete a session unless it was used since that time, or is in use; see `Expiry`."""
        async with self._locks.hold(session):
            try:
                if not await is_unused(self._services.store, session, since):
                    return False
            except DamagedRow as error:
                logger.warning("An unused session stays: %s", error)
                return False
            # what stands in memory is newer; nothing comes between this look and the farewell
            manager = self._managers.get(session)
            if manager is not None and not manager.is_unused_since(since):
                return False
            self._managers.pop(session, None)
            gone, cancelled = await carry_through(erase(self._services, session))
        if cancelled:
            raise asyncio.CancelledError
        return gone

    async def _take_up(self, run: Run) -> None:
        try:
            manager = await self.open(run.session)
        except DamagedRow as error:
            logger.warning("Run %s is set aside and not taken up: %s", run.run_id, error)
        else:
            manager.runs.take_up(run, self._services.settings())

    async def _interrupt(self, run: Run) -> None:
        now = self._services.clock.now()
        ended = await keep_artifacts(stopped(run, StopReason.SHUTDOWN, now), self._services.files)
        delivery = Delivery(
            delivery_id=run.run_id, session=run.session, owner=run.owner, created_at=now
        )
        await self._services.store.write_run(RunWrite(run=ended, delivery=delivery))
        logger.warning("Run %s was cut off by a restart", run.run_id)

    def _caps(self) -> Caps:
        settings = self._services.settings()
        return Caps(
            per_session=settings.max_parallel_per_session, total=settings.max_parallel_total
        )


class _Locks:
    """One lock for each session, kept only as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[SessionId, asyncio.Lock] = {}
        self._users: Counter[SessionId] = Counter()

    @asynccontextmanager
    async def hold(self, session: SessionId) -> AsyncIterator[None]:
        """Be alone with a session."""
        self._users[session] += 1
        try:
            async with self._locks.setdefault(session, asyncio.Lock()):
                yield
        finally:
            self._users[session] -= 1
            if not self._users[session]:
                del self._users[session], self._locks[session]
