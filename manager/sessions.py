"""Sessions: from a session's id to its manager. Opens, lets idle ones go, closes all."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from .courier import Courier
from .daily import every_day
from .errors import LostRun, ShuttingDown
from .event_log import EventLog
from .expiry import Expiry, erase, is_unused
from .manager import SubAgentManager
from .models import UNFINISHED, Run, SessionId, SessionRecord, StopReason
from .retention import Retention
from .runs.budget import DayTokens, day_start
from .runs.line import Caps
from .runs.shielding import carry_through
from .runs.supervisor import Supervisor
from .runs.taking_up import MOST_TAKES, OLDEST, TakingUp
from .services import Services
from .session_state import Kept
from .store.rows import DamagedRow
from .turn_record import TurnRecord
from .workers.member import Member
from .workers.team import Alone, Team

logger = logging.getLogger(__name__)

_TAKEN_UP_AT_MOST = 10_000
"""Unfinished runs of a session that comes here; nobody has so many."""

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
        self._taking_up = TakingUp(services, most_takes=most_takes)
        self._supervisor = Supervisor(self._caps)
        self._managers: dict[SessionId, SubAgentManager] = {}
        self._locks = _Locks()
        self._lost: dict[SessionId, list[TurnRecord]] = {}
        """Turns that a restart cut off, until their session is opened."""
        self._lost_in: set[SessionId] = set()
        """Where there were any when this began."""
        self.courier = Courier(services, self._supervisor, self._open_own, lambda: self._lost_in)
        """Brings what no turn takes."""
        self._events = EventLog(services, self._supervisor)
        self._team = self._make_team()
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
        store, home = self._services.store, self._team.home
        await store.open()
        await self._team.begin()
        await store.release_claims(self._services.executor, home)
        unfinished = await store.unfinished_runs(home)
        await self._find_lost_turns()
        # first those that end: a session reads its open deliveries when it is opened
        going_on = [run for run in unfinished if not await self._is_interrupted(run)]
        for run in going_on:
            await self.take_up(run)
        await self._team.start()
        old = (self._expiry.sweep, Retention(self._services).sweep)
        self._supervisor.start(every_day(self._services.clock, *old), name="deleting what is old")

    async def _find_lost_turns(self) -> None:
        """Look for turns that a restart cut off; what a reload left behind goes on without us."""
        for record in await self._services.store.open_turns(self._team.home):
            is_ours = record.executor == self._services.executor
            is_old = self._services.clock.now() - record.began_at > OLDEST
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

    async def _open_own(self, session: SessionId) -> SubAgentManager | None:
        """What `open` gives; None: another process looks after the session now."""
        return await self.open(session) if await self._team.is_ours(session) else None

    async def open_here(self, session: SessionId) -> SubAgentManager:
        """What `open` gives, for a message that came to this process: a turn or a command.

        From now on the session is looked after here, if another process has done it until now.

        Raises:
            ShuttingDown: All sessions are being closed.
            StoreError: The store cannot be read.
        """
        if not await self._team.move_in(session):
            return await self.open(session)
        # what stands in memory is from before the other process had it
        self.moved_out(session)
        manager = await self.open(session)
        unfinished = await self._services.store.list_runs(
            session, states=UNFINISHED, limit=_TAKEN_UP_AT_MOST
        )
        # those of one agent begin in the order in which they were asked for
        for run in reversed(unfinished):
            await self.take_up(run)
        return manager

    def moved_out(self, session: SessionId) -> None:
        """The session is another process's now."""
        if (manager := self._managers.pop(session, None)) is not None:
            manager.runs.let_all_go()

    def loaded(self, session: SessionId) -> SubAgentManager | None:
        """The session's manager if it is in memory."""
        return self._managers.get(session)

    def all_loaded(self) -> list[SubAgentManager]:
        """The managers in memory."""
        return list(self._managers.values())

    @property
    def events(self) -> EventLog:
        """What is kept of what happens, for who follows it."""
        return self._events

    def settings_changed(self) -> None:
        """There may be more places now than runs at work."""
        self._supervisor.line.admit()

    async def end_all(self, session: SessionId, reason: StopReason) -> None:
        """Stop the live runs of a session."""
        if (manager := self._managers.get(session)) is not None:
            await manager.stop_all(reason)

    async def close(self) -> None:
        """Stop everything and close the store; unfinished runs stay to be taken up."""
        self._closed = True
        self.courier.close()
        try:
            await self._team.close()
            await self._supervisor.close()
            for manager in self._managers.values():
                await manager.runs.results.write_missed()
            await self._events.close()
        finally:
            self._managers.clear()
            await self._services.store.close()

    async def _load(self, session: SessionId) -> SubAgentManager:
        kept = await self._kept(session, lost=self._lost.get(session, ()))
        services, supervisor = self._services, self._supervisor
        manager = SubAgentManager(session, services, supervisor, kept=kept, team=self._team)
        await manager.load()
        self._lost.pop(session, None)
        return manager

    async def load_for_guest(
        self, session: SessionId, services: Services, supervisor: Supervisor
    ) -> SubAgentManager:
        """A session as it is now, for one run of another process; nobody else has it."""
        kept, alone = await self._kept(session), Alone(services)
        manager = SubAgentManager(session, services, supervisor, kept=kept, team=alone)
        if services.sharing is not None:
            manager.set_static(services.sharing.static_agents())
        await manager.load()
        return manager

    async def _kept(self, session: SessionId, *, lost: Sequence[TurnRecord] = ()) -> Kept:
        store, now = self._services.store, self._services.clock.now()
        record = await store.load_session(session)
        if record is None:
            # not stored: the store makes a record with the first thing that is to be kept
            record = SessionRecord(session=session, created_at=now, last_active_at=now)
        today = day_start(now)
        return Kept(
            record=record,
            agents=await store.load_agents(session),
            day=DayTokens(day_start=today, used=await store.tokens_used(session, today)),
            lost=lost,
        )

    def _make_team(self) -> Team:
        sharing = self._services.sharing
        if sharing is None:
            return Alone(self._services)
        return Member(
            self._services,
            sharing,
            self._supervisor,
            self._events,
            taking_up=self._taking_up,
            sessions=self,
        )

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

    async def take_up(self, run: Run) -> None:
        """Go on with a run that was cut off; one whose session cannot be read is left alone."""
        try:
            manager = await self.open(run.session)
        except DamagedRow as error:
            logger.warning("Run %s is set aside and not taken up: %s", run.run_id, error)
        else:
            manager.runs.take_up(run, self._services.settings())

    async def _is_interrupted(self, run: Run) -> bool:
        """Whether a run that was cut off does not go on, and has its end now."""
        failure = None if self._team.goes_on(run) else self._taking_up.why_not(run)
        if failure is None:
            return False
        try:
            await self._taking_up.interrupt(run, failure)
        except LostRun:
            return False
        return True

    def _caps(self) -> Caps:
        return self._team.caps(self._services.settings())


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
