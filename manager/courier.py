"""The courier: brings results and questions to their owners when no turn of theirs takes them.

One per process. It hears of everything on the bus, looks at a session when something may be due
there, and does one errand of a session after another, so that a chat is never woken twice at once.
What was taken stands in the outbox; an errand that brought nothing is tried again later, with
longer and longer pauses, and in the end as a plain message.
"""

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from .errors import ShuttingDown, SubAgentError
from .events import Event, RunChanged, TurnEnded
from .file_courier import FileCourier
from .manager import SubAgentManager
from .messenger import Errand, Messenger, Way
from .models import OwnerId, RunId, RunState, SessionId
from .runs.asking import USER
from .runs.pausing import pause
from .runs.supervisor import Supervisor
from .services import Services

logger = logging.getLogger(__name__)

_PAUSES = (5.0, 30.0, 120.0, 600.0)
"""Seconds before an errand is tried again."""
_CLAIM = timedelta(hours=1)


type _Key = tuple[SessionId, OwnerId, Way]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """Errands of one way to one user that brought nothing, one after another."""

    marks: frozenset[str]
    """What was to be brought: ids of runs, and of turns that a restart cut off."""
    count: int
    not_before: float


class Courier:
    """Watches all sessions of one process."""

    def __init__(
        self,
        services: Services,
        supervisor: Supervisor,
        open_session: Callable[[SessionId], Awaitable[SubAgentManager | None]],
        lost: Callable[[], Collection[SessionId]],
    ) -> None:
        self._services = services
        self._supervisor = supervisor
        self._open_session = open_session
        self._lost = lost
        self._at_work: set[SessionId] = set()
        self._look_again: set[SessionId] = set()
        self._unlooked: set[SessionId] = set()
        """Something may be due there since the chat could not be reached."""
        self._failures: dict[_Key, _Failure] = {}
        self._files = FileCourier(services, supervisor)
        self._unsubscribe = services.bus.subscribe(self._hear)

    @property
    def _messenger(self) -> Messenger:
        return self._services.messenger

    async def start(self) -> None:
        """Look after what waits from before; the chat can be reached from now on.

        Raises:
            StoreError: The store cannot be read.
        """
        home = self._services.home
        pending = [session for session, _ in await self._services.store.pending_owners(home)]
        unlooked, self._unlooked = self._unlooked, set()
        for session in (*pending, *self._lost(), *unlooked):
            self.look(session)

    def close(self) -> None:
        """Hear of nothing more; what is under way ends with the supervisor."""
        self._unsubscribe()

    def look(self, session: SessionId) -> None:
        """See whether anything is due in a session."""
        if self._supervisor.closing:
            return
        if not self._messenger.is_on:
            self._unlooked.add(session)
            return
        if session in self._at_work:
            self._look_again.add(session)
            return
        self._at_work.add(session)
        self._supervisor.start(self._work(session), name=f"courier of {session}")

    def _hear(self, happened: Event) -> None:
        match happened:
            case RunChanged(run=run) if run.is_over or run.state is RunState.WAITING:
                self.look(happened.session)
            case TurnEnded():
                self.look(happened.session)

    async def _work(self, session: SessionId) -> None:
        try:
            self._look_again.add(session)
            while session in self._look_again:
                self._look_again.discard(session)
                await self._do_all(session)
        except ShuttingDown:
            logger.info("The courier of %s stops with the plugin", session)
        except SubAgentError:
            logger.exception("What is due in %s could not be looked up", session)
            self._later(session, _PAUSES[0])
        finally:
            self._at_work.discard(session)

    async def _do_all(self, session: SessionId) -> None:
        manager = await self._open_session(session)
        if manager is None:
            return
        is_off = await self._messenger.is_off_for(session)
        settings = self._services.settings()
        for errand in await manager.errands.due(settings, is_off=is_off):
            if self._is_early(errand) or not manager.errands.is_still_due(errand):
                continue
            await self._do(errand, manager)
            # the turns and results of the session are others by now
            self._look_again.add(session)
            return

    def _is_early(self, errand: Errand) -> bool:
        failure = self._failures.get(_key(errand))
        # what came since may be brought at once
        if failure is None or failure.marks.isdisjoint(_marks(errand)):
            return False
        return failure.not_before > self._services.clock.monotonic()

    async def _do(self, errand: Errand, manager: SubAgentManager) -> None:
        is_done = False
        try:
            match errand.way:
                case Way.ASK:
                    is_done = await self._ask(errand, manager)
                case Way.TELL:
                    is_done = await self._tell(errand, manager)
                case Way.WAKE:
                    is_done = await self._wake(errand, manager)
        finally:
            # whatever broke, it is tried again
            self._note(errand, is_done=is_done)

    def _note(self, errand: Errand, *, is_done: bool) -> None:
        key = _key(errand)
        before = self._failures.pop(key, None)
        if is_done:
            return
        marks = _marks(errand)
        is_next = before is not None and not before.marks.isdisjoint(marks)
        count = before.count + 1 if before is not None and is_next else 1
        seconds = _PAUSES[min(count, len(_PAUSES)) - 1]
        not_before = self._services.clock.monotonic() + seconds
        self._failures[key] = _Failure(marks=marks, count=count, not_before=not_before)
        self._later(errand.session, seconds)

    def _later(self, session: SessionId, seconds: float) -> None:
        if not self._supervisor.closing:
            later = self._look_later(session, seconds)
            self._supervisor.start(later, name=f"courier of {session}, later")

    async def _look_later(self, session: SessionId, seconds: float) -> None:
        await pause(self._services.clock, seconds)
        self.look(session)

    async def _ask(self, errand: Errand, manager: SubAgentManager) -> bool:
        ids = _ids(errand)
        # before it is sent, so that an answer that comes at once finds it asked
        manager.runs.questions.show(ids, USER)
        is_asked = False
        try:
            is_asked = await self._messenger.ask(errand)
        finally:
            if not is_asked:
                manager.runs.questions.show(ids, "")
        return is_asked

    async def _tell(self, errand: Errand, manager: SubAgentManager) -> bool:
        results, taker = manager.runs.results, f"message {errand.errand_id}"
        if not await self._claim(errand, manager, taker):
            return True
        # no turn may take what is on its way as a message
        results.outbox.hand(_ids(errand), taker=taker)
        try:
            told = await self._messenger.tell(errand)
            # each for itself, so that one that cannot be sent makes no other come again
            await results.acknowledge(told)
        finally:
            results.outbox.give_back(taker)
        await self._files.bring(errand, told)
        return len(told) == len(errand.runs)

    async def _wake(self, errand: Errand, manager: SubAgentManager) -> bool:
        if not await self._messenger.can_wake(errand):
            return False
        if not await self._claim(errand, manager, f"wake-up {errand.errand_id}"):
            return True
        manager.log.claim(errand.lost)
        held = await self._messenger.wake(errand)
        # meanwhile the session may have left memory and come back
        again = await self._open_session(errand.session)
        if again is None:
            return True
        manager = again
        outbox = manager.runs.results.outbox
        # a turn that it lost to a message of the user is settled by that turn
        left = {row.delivery_id for row in outbox.pending(errand.owner)}
        left |= {record.turn_id for record in manager.log.lost_of(errand.owner)}
        # of what others took they know where the files are
        await self._files.bring(errand, set(held) - left)
        return left.isdisjoint(_marks(errand))

    async def _claim(self, errand: Errand, manager: SubAgentManager, taker: str) -> bool:
        """Claim what is to be brought.

        Returns:
            False when a turn of the user has begun meanwhile: what it leaves is due once it ends.
        """
        until = self._services.clock.now() + _CLAIM
        await manager.runs.results.outbox.claim(_ids(errand), taker=taker, until=until)
        return manager.errands.is_still_due(errand)


def _ids(errand: Errand) -> list[RunId]:
    return [run.run_id for run in errand.runs]


def _marks(errand: Errand) -> frozenset[str]:
    return frozenset((*_ids(errand), *(record.turn_id for record in errand.lost)))


def _key(errand: Errand) -> _Key:
    return (errand.session, errand.owner, errand.way)
