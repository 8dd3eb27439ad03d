"""Guests: runs that were brought to this process, of chats of any home.

Each is executed with its session loaded anew from the store, on a bus of its own: nobody here
delivers its result or tells of it. Its home hears of it by signals and reads the store.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..errors import StoreError
from ..event_log import EventLog
from ..events import Event, EventBus, ModelCalled, RunChanged, ToolFinished, ToolStarted
from ..models import Run, RunId, RunState, SessionId
from ..runs.desk import RunDesk
from ..runs.line import Caps
from ..runs.shielding import seen_out
from ..runs.supervisor import Supervisor
from ..services import Services
from ..shared_context import SharedContext
from ..stored_event import StoredEvent
from .crew import Crew
from .handing_back import hand_back
from .orders import Obedience

logger = logging.getLogger(__name__)

_NO_CAPS = Caps(per_session=1_000_000, total=1_000_000)
"""The home has let the run begin, and the workforce has found it a place."""


class GuestSession(Protocol):
    """A session that is loaded for one run."""

    @property
    def runs(self) -> RunDesk:
        """Its runs."""
        ...

    @property
    def notes(self) -> SharedContext:
        """The notes of its board."""
        ...


type LoadGuest = Callable[[SessionId, Services, Supervisor], Awaitable[GuestSession]]


class Guests:
    """Executes what is brought to this process."""

    def __init__(
        self,
        crew: Crew,
        events: EventLog,
        load: LoadGuest,
        take_up: Callable[[Run], Awaitable[None]],
    ) -> None:
        """Set it up.

        Args:
            crew: This process among the others.
            events: Keeps what happens to guests.
            load: Loads a session for one run.
            take_up: Takes up a run of this home that is not followed yet.
        """
        self._crew = crew
        self._services = crew.services
        self._events = events
        self._load = load
        self._take_up = take_up
        self._supervisor = Supervisor(lambda: _NO_CAPS)
        self._at_work: set[RunId] = set()
        self._sessions: dict[RunId, tuple[SessionId, GuestSession]] = {}
        self._obeying = crew.obeying

    async def close(self) -> None:
        """End what is left; the workforce has stopped bringing runs."""
        await self._supervisor.close()

    async def execute(self, run_id: RunId) -> None:
        """Execute a run that was brought here; see `Workforce.start`."""
        if run_id in self._at_work:
            return
        self._at_work.add(run_id)
        try:
            await self._execute(run_id)
        except StoreError as error:
            # its home sends it again
            logger.warning("Run %s could not be begun here: %s", run_id, error)
        except Exception:
            # an edge: what is brought must not stop the workforce
            logger.exception("Run %s broke off", run_id)
        finally:
            self._at_work.discard(run_id)

    def ordered(self, run_id: RunId) -> None:
        """Something was ordered of a run; nothing happens when it is not executed here."""
        if (obedience := self._obeying.get(run_id)) is not None:
            self._start(self._obey(obedience), f"orders of run {run_id}")

    def look(self) -> None:
        """Signals may have been missed."""
        for run_id in tuple(self._obeying):
            self.ordered(run_id)
        for of, _ in tuple(self._sessions.values()):
            self.notes_changed(of)

    def notes_changed(self, session: SessionId) -> None:
        """There are new notes on a session's board."""
        for of, guest in tuple(self._sessions.values()):
            if of == session:
                guest.notes.changed_elsewhere()
                self._start(guest.notes.catch_up(), f"board of {session}")

    def kept(self, events: Sequence[StoredEvent]) -> None:
        """What happened to guests is in the store: their homes may tell of it."""
        for run_id in dict.fromkeys(event.run_id for event in events if event.run_id is not None):
            if run_id in self._sessions:
                self._start(self._crew.tell_run(run_id), f"telling of run {run_id}")

    async def _execute(self, run_id: RunId) -> None:
        run = await self._services.store.find_run(run_id)
        if run is None or run.is_over:
            return
        home = await self._services.store.home_of(run.session)
        if home == self._crew.sharing.home:
            if self._crew.following.find(run_id) is None:
                await self._take_up(run)
            if (followed := self._crew.following.find(run_id)) is not None:
                await followed.execute_here()
            return
        services = replace(self._services, bus=EventBus(), is_guest=True)
        session = await self._load(run.session, services, self._supervisor)
        if home and (lacks := session.runs.lacks(run)):
            logger.info("Run %s goes to its home, for: %s", run_id, ", ".join(lacks))
            await self._crew.send(run_id, only=home)
        elif (failure := self._crew.taking_up.why_not(run)) is not None and run.fence > 0:
            taken = await self._services.store.take_run(replace(run, executor=services.executor))
            if taken is not None:
                await self._crew.taking_up.interrupt(taken, failure)
            await self._crew.tell_run(run_id)
        else:
            await self._be_host(run, session, services)

    async def _be_host(self, run: Run, session: GuestSession, services: Services) -> None:
        unsubscribe = services.bus.subscribe(self._hear)
        live = session.runs.admit(run, services.settings())
        obedience = Obedience(live, services.bus)
        self._sessions[run.run_id] = (run.session, session)
        self._obeying[run.run_id] = obedience
        try:
            await obedience.look(services.store)
            await seen_out(self._supervisor.start(live.execute(), name=f"run {run.run_id}"))
            # an end that the store would not take yet is written before anyone else may have it
            await session.runs.caught_up(run.conversation)
        except asyncio.CancelledError:
            await hand_back(live.run, services.store, executor=services.executor)
            raise
        finally:
            obedience.close()
            unsubscribe()
            del self._obeying[run.run_id], self._sessions[run.run_id]
            session.runs.release(live)
        await self._crew.tell_run(run.run_id)

    def _hear(self, happened: Event) -> None:
        match happened:
            case RunChanged(run=run):
                self._events.hear(happened)
                waiting = run.state is RunState.WAITING
                self._crew.sharing.workforce.waits(run.run_id, waiting)
                self._start(self._crew.tell_run(run.run_id), f"telling of run {run.run_id}")
            case ModelCalled() | ToolStarted() | ToolFinished():
                self._events.hear(happened)

    async def _obey(self, obedience: Obedience) -> None:
        try:
            await obedience.look(self._services.store)
        except StoreError as error:
            logger.warning("Orders could not be taken yet: %s", error)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        if self._supervisor.closing:
            work.close()
        else:
            self._supervisor.start(work, name=name)
