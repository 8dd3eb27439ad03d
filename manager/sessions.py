"""Sessions: from a session's id to its manager. Opens, lets idle ones go, closes all."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from .artifacts import keep_artifacts
from .courier import Courier
from .daily import every_day
from .errors import ShuttingDown
from .event_log import EventLog
from .expiry import Expiry, erase, is_unused
from .manager import SubAgentManager
from .models import Failure, Run, SessionId, SessionRecord, StopReason, delivery_of
from .retention import Retention
from .runs.budget import DayTokens, day_start
from .runs.endings import interrupted
from .runs.line import Caps
from .runs.shielding import carry_through
from .runs.supervisor import Supervisor
from .services import Services
from .session_state import Kept
from .store.protocol import RunWrite
from .store.rows import DamagedRow

if TYPE_CHECKING:
    from .turn_record import TurnRecord

logger = logging.getLogger(__name__)

MOST_TAKES = 5
"""How often a run is taken up at most: it may be what brings the bot down."""
_OLDEST = timedelta(days=1)
"""A run that was asked for longer ago is not taken up: nobody waits for it."""

LOADED_AT_MOST = 256
"""Idle sessions beyond this many leave memory, the longest unused first."""


class Sessions:
    """All sessions of one bot. Owns the store and the supervisor."""

    def __init__(self, services: Services, *, most_takes: int = MOST_TAKES) -> None:
        """Set it up.

        Args:
            services: The core's surroundings.
            most_takes: How often a run is taken up at most, at least 1.
        """
        self._services = services
        self._most_takes = most_takes
        self._supervisor = Supervisor(self._caps)
        self._managers: dict[SessionId, SubAgentManager] = {}
        self._locks = _Locks()
        self._lost: dict[SessionId, list[TurnRecord]] = {}
        """Turns that a restart cut off, until their session is opened."""
        self._lost_in: set[SessionId] = set()
        """Where there were any when this began."""
        self.courier = Courier(services, self._supervisor, self.open, lambda: self._lost_in)
        """Brings what no turn takes."""
        self._events = EventLog(services, self._supervisor)
        self._expiry = Expiry(services, let_go=self._delete_unused)
        self._closed = False

    async def start(self) -> None:
        """Open the store and look after runs that were cut off.

        Runs of this process (the plugin was reloaded) go on. Those of another (the bot was
        restarted) go on too unless the settings say otherwise, the run is old, or it was taken up
        too often; then it ends with what it had, and that is delivered. One that cannot be read,
        or whose session cannot, is logged and left as it is.

        Raises:
            StoreError: The store cannot be used.
        """
        store = self._services.store
        await store.open()
        await store.release_claims(self._services.executor)
        unfinished = await store.unfinished_runs()
        await self._find_lost_turns()
        why_not = {run.run_id: self._why_not_resumed(run) for run in unfinished}
        # first those that end: a session reads its open deliveries when it is opened
        for run in unfinished:
            if (failure := why_not[run.run_id]) is not None:
                await self._interrupt(run, failure)
        for run in unfinished:
            if why_not[run.run_id] is None:
                await self._take_up(run)
        old = (self._expiry.sweep, Retention(self._services).sweep)
        self._supervisor.start(every_day(self._services.clock, *old), name="deleting what is old")

    async def _find_lost_turns(self) -> None:
        """Look for turns that a restart cut off; what a reload left behind goes on without us."""
        for record in await self._services.store.open_turns():
            is_ours = record.executor == self._services.executor
            is_old = self._services.clock.now() - record.began_at > _OLDEST
            if is_ours or is_old or not self._services.settings().resume_on_restart:
                await self._services.store.end_turn(record.turn_id)
            else:
                self._lost.setdefault(record.session, []).append(record)
        self._lost_in = set(self._lost)

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
        self.courier.close()
        try:
            await self._supervisor.close()
            for manager in self._managers.values():
                await manager.runs.results.write_missed()
            await self._events.close()
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
        kept = Kept(
            record=record,
            agents=await store.load_agents(session),
            day=DayTokens(day_start=today, used=await store.tokens_used(session, today)),
            lost=self._lost.get(session, ()),
        )
        manager = SubAgentManager(session, self._services, self._supervisor, kept=kept)
        await manager.load()
        self._lost.pop(session, None)
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

    def _why_not_resumed(self, run: Run) -> Failure | None:
        """Why a run that was cut off does not go on; None: it does."""
        if run.executor == self._services.executor:
            return None
        if not self._services.settings().resume_on_restart:
            return Failure(code="interrupted", message="The bot was restarted while this ran.")
        if self._services.clock.now() - run.created_at > _OLDEST:
            return Failure(
                code="interrupted",
                message="The bot was restarted, and this was too old to be taken up.",
            )
        if run.fence >= self._most_takes:
            return Failure(
                code="taken_up_too_often",
                message=f"The bot was restarted {run.fence} times while this ran; it may be the "
                "cause.",
            )
        return None

    async def _interrupt(self, run: Run, failure: Failure) -> None:
        now = self._services.clock.now()
        # nobody waits for it any more: its owner is to hear of it
        ended = interrupted(replace(run, background=True), failure, now)
        ended = await keep_artifacts(ended, self._services.files)
        write = RunWrite(run=ended, delivery=delivery_of(ended, now))
        await self._services.store.write_run(write)
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
