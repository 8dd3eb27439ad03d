"""One of the processes that share a store.

It sends and follows the runs of its own sessions, and executes what is brought to it.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ..errors import StoreError
from ..event_log import EventLog
from ..events import Event, RunChanged
from ..models import Run, RunId, RunState, SessionId
from ..runs.kinds import Executions, Place, Shareable
from ..runs.line import Caps
from ..runs.supervisor import Supervisor
from ..runs.taking_up import TakingUp
from ..services import Services
from ..settings import Settings
from ..shared_context import SharedContext
from .crew import Crew
from .followed_run import FollowedRun
from .following import Following
from .guests import Guests, GuestSession
from .needs import is_pinned
from .ports import Sharing, Signal

logger = logging.getLogger(__name__)

_NO_CAP = 1_000_000


class OwnSession(Protocol):
    """A session that is looked after here."""

    @property
    def notes(self) -> SharedContext:
        """The notes of its board."""
        ...


class OwnSessions(Protocol):
    """What the team needs to know of the sessions that are looked after here."""

    def loaded(self, session: SessionId) -> OwnSession | None:
        """The session, if it is in memory."""
        ...

    def all_loaded(self) -> Sequence[OwnSession]:
        """All that are in memory."""
        ...

    async def take_up(self, run: Run) -> None:
        """Go on with a run of this home."""
        ...

    async def load_for_guest(
        self, session: SessionId, services: Services, supervisor: Supervisor
    ) -> GuestSession:
        """A session as it is now, for one run of another home."""
        ...

    def moved_out(self, session: SessionId) -> None:
        """A session is another process's now."""
        ...


class Member:
    """One of the processes that share a store."""

    def __init__(
        self,
        services: Services,
        sharing: Sharing,
        supervisor: Supervisor,
        events: EventLog,
        *,
        taking_up: TakingUp,
        sessions: OwnSessions,
    ) -> None:
        """Set it up.

        Args:
            services: The core's surroundings.
            sharing: The others.
            supervisor: Owns the tasks of this process's own sessions.
            events: Keeps events.
            taking_up: Decides on runs that a crash left behind.
            sessions: The sessions that are looked after here.
        """
        self._services = services
        self._sharing = sharing
        self._supervisor = supervisor
        self._sessions = sessions
        self._following = Following(services, sharing, supervisor)
        self._crew = Crew(
            services=services,
            sharing=sharing,
            supervisor=supervisor,
            following=self._following,
            taking_up=taking_up,
        )
        self._guests = Guests(self._crew, events, sessions.load_for_guest, sessions.take_up)
        self._unsubscribe = sharing.signals.subscribe(self._hear, self._look)
        self._leave_bus = services.bus.subscribe(self._happened)
        events.when_kept(self._guests.kept)

    @property
    def home(self) -> str:
        """See `Team.home`."""
        return self._sharing.home

    def caps(self, settings: Settings) -> Caps:
        """See `Team.caps`: each process limits what it executes, not what it asks for."""
        return Caps(per_session=settings.max_parallel_per_session, total=_NO_CAP)

    def executions(self, runs: Shareable) -> Executions:
        """See `Team.executions`."""
        return _FollowedExecutions(self._crew, runs)

    def goes_on(self, run: Run) -> bool:
        """See `Team.goes_on`."""
        return run.fence > 0

    async def begin(self) -> None:
        """See `Team.begin`."""
        await self._services.store.adopt_homeless(self.home)

    async def start(self) -> None:
        """See `Team.start`."""
        await self._sharing.workforce.start(self._guests.execute)

    async def move_in(self, session: SessionId) -> bool:
        """See `Team.move_in`."""
        store = self._services.store
        if await store.home_of(session) == self.home:
            return False
        before = await store.move_home(session, self.home, self._services.clock.now())
        if not before:
            return False
        await self._sharing.signals.tell(Signal(kind="home", subject=session))
        return before != self.home

    async def is_ours(self, session: SessionId) -> bool:
        """See `Team.is_ours`."""
        return await self._services.store.home_of(session) in ("", self.home)

    async def close(self) -> None:
        """See `Team.close`."""
        self._unsubscribe()
        self._leave_bus()
        await self._sharing.workforce.close()
        await self._guests.close()

    def _happened(self, happened: Event) -> None:
        """Something happened to a run of this home, which may be executed here."""
        if isinstance(happened, RunChanged):
            waiting = happened.run.state is RunState.WAITING
            self._sharing.workforce.waits(happened.run.run_id, waiting)

    def _hear(self, signal: Signal) -> None:
        if self._supervisor.closing:
            return
        match signal.kind:
            case "run":
                self._following.heard(RunId(signal.subject))
            case "order":
                self._guests.ordered(RunId(signal.subject))
            case "board":
                self._notes_changed(SessionId(signal.subject))
            case "home":
                work = self._look_whose(SessionId(signal.subject))
                self._supervisor.start(work, name=f"home of {signal.subject}")

    def _notes_changed(self, session: SessionId) -> None:
        if (own := self._sessions.loaded(session)) is not None:
            self._catch_up(own)
        self._guests.notes_changed(session)

    async def _look_whose(self, session: SessionId) -> None:
        try:
            if await self._services.store.home_of(session) != self.home:
                self._sessions.moved_out(session)
        except StoreError as error:
            logger.warning("Whose %s is could not be looked up: %s", session, error)

    def _look(self) -> None:
        """Signals were missed."""
        if self._supervisor.closing:
            return
        self._following.look()
        self._guests.look()
        for own in self._sessions.all_loaded():
            self._catch_up(own)

    def _catch_up(self, own: OwnSession) -> None:
        own.notes.changed_elsewhere()
        self._supervisor.start(own.notes.catch_up(), name="board")


class _FollowedExecutions:
    """Has the runs of a session executed by any of the processes."""

    def __init__(self, crew: Crew, runs: Shareable) -> None:
        self._crew = crew
        self._runs = runs

    def new(self, run: Run, place: Place) -> FollowedRun:
        """See `Executions.new`."""
        if not run.depends_on:
            place.ports.line.join(place.ticket)
        return self._followed(replace(run, executor=self._crew.executor), place, is_new=True)

    def taken_up(self, run: Run, place: Place) -> FollowedRun:
        """See `Executions.taken_up`."""
        line, ticket = place.ports.line, place.ticket
        if run.fence > 0:
            # it has had its place before
            line.hold(ticket)
            if run.state is not RunState.WAITING:
                line.unpark(ticket.run_id)
        elif not run.depends_on:
            line.join(ticket)
        return self._followed(run, place, is_new=False)

    def _followed(self, run: Run, place: Place, *, is_new: bool) -> FollowedRun:
        return FollowedRun(run, place, self._crew, ready=self._ready, is_new=is_new)

    async def _ready(self, run: Run) -> str:
        """Make a run ready to be sent: the home that must execute it, or ""."""
        await self._runs.mark(run)
        scope = self._runs.scope(run)
        pinned = self._crew.services.settings().workers.pinned_tools
        is_at_home = scope is not None and is_pinned(run, scope, pinned)
        return self._crew.sharing.home if is_at_home else ""
