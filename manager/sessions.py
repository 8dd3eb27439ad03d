"""Sessions: from a session's id to its manager. Opens, lets idle ones go, closes all."""

import asyncio
import logging
from collections import defaultdict

from .errors import ShuttingDown
from .manager import SubAgentManager
from .models import Delivery, Run, SessionId, SessionRecord, StopReason
from .runs.budget import DayTokens, day_start
from .runs.endings import stopped
from .runs.line import Caps
from .runs.supervisor import Supervisor
from .services import Services
from .store.protocol import RunWrite

logger = logging.getLogger(__name__)

LOADED_AT_MOST = 256
"""Idle sessions beyond this many leave memory, the longest unused first."""


class Sessions:
    """All sessions of one bot. Owns the store and the supervisor."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._supervisor = Supervisor(self._caps)
        self._managers: dict[SessionId, SubAgentManager] = {}
        self._locks: defaultdict[SessionId, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._closed = False

    async def start(self) -> None:
        """Open the store and look after runs that were cut off.

        Runs of this process (the plugin was reloaded) go on; those of another (the bot was
        restarted) end as interrupted, with what they had, and their results are delivered.

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
            manager = await self.open(run.session)
            manager.runs.take_up(run, self._services.settings())

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
        async with self._locks[session]:
            if session not in self._managers:
                manager = await self._load(session)
                if self._closed:
                    raise ShuttingDown
                self._managers[session] = manager
                self._let_idle_go()
        self._locks.pop(session, None)
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
            record = SessionRecord(session=session, created_at=now, last_active_at=now)
            await store.save_session(record)
        today = day_start(now)
        manager = SubAgentManager(
            session,
            self._services,
            self._supervisor,
            record=record,
            agents=await store.load_agents(session),
            day=DayTokens(day_start=today, used=await store.tokens_used(session, today)),
        )
        await manager.runs.outbox.load()
        return manager

    def _let_idle_go(self) -> None:
        surplus = len(self._managers) - LOADED_AT_MOST
        idle = [session for session, manager in self._managers.items() if manager.is_idle()]
        # the one that was just opened stands last and stays
        for session in idle[:-1][: max(0, surplus)]:
            del self._managers[session]

    async def _interrupt(self, run: Run) -> None:
        now = self._services.clock.now()
        ended = stopped(run, StopReason.SHUTDOWN, now)
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
