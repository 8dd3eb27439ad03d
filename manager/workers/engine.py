"""The workforce: takes runs out of the queue, executes them, and sees to those of dead processes.

Each process that shares the store has one. What it takes stays in its hands until `execute`
returns; a heartbeat tells the others that it lives. A process without one for some seconds is taken
for dead, and its runs are brought to others. It may yet live: the store's fence then keeps it from
writing, and here it can end nothing that is another's.

Source: docs/decisions/0007-many-workers.md
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from ..errors import StoreUnavailable
from ..models import RunId
from .job_queue import CALL_SECONDS, Job, JobQueue, NotRegistered

logger = logging.getLogger(__name__)

ANY = "any"
"""The queue of runs that every process may execute."""
_HOME = "home:"
_LONGEST_HOME = 30
"""Bytes: procrastinate makes a channel of a queue's name, and PostgreSQL takes 63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often the engine looks, in seconds."""

    beat: float = 2.0
    """Between two heartbeats."""
    stalled: float = 10.0
    """Without a heartbeat for so long, a process is taken for dead."""
    poll: float = 5.0
    """Between two looks into the queue; new runs are told of, so this is for a lost word."""
    reconnect: float = 1.0
    """Before the next try, where the database could not be reached."""
    answer: float = CALL_SECONDS
    """How long the database may take for one answer."""
    close: float = 5.0
    """How long the end waits for the database. Then others take this process for dead."""


@dataclass(slots=True, kw_only=True)
class _Hand:
    """A run that this process is at."""

    job: Job
    task: "asyncio.Task[None]" = field(init=False)
    is_waiting: bool = False
    """For an answer: its place is another's meanwhile."""
    send_on: str = ""
    """The queue it goes to when this process is done with it."""


class ProcrastinateWorkforce:
    """See `Workforce`."""

    def __init__(
        self, queue: JobQueue, *, home: str, places: Callable[[int], bool], pace: Pace
    ) -> None:
        """Do nothing yet.

        Args:
            queue: Open from `start` until after `close`.
            home: The name of this process.
            places: Whether this process takes one more run, given how many it is at; those that
                wait for an answer do not count.
            pace: How often it looks.
        """
        self._queue = queue
        self._own = queue_of(home)
        self._places = places
        self._pace = pace
        self._worker = 0
        self._execute: Callable[[RunId], Awaitable[None]] | None = None
        self._hands: dict[RunId, _Hand] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._taking = asyncio.Lock()
        self._steady_since: float | None = None
        self._is_in_trouble = False

    async def start(self, execute: Callable[[RunId], Awaitable[None]]) -> None:
        """See `Workforce.start`."""
        self._execute = execute
        self._wake.set()
        work = (self._work(), self._live(), self._listen())
        self._tasks = [asyncio.create_task(each) for each in work]

    async def close(self) -> None:
        """See `Workforce.close`."""
        tasks, self._tasks = self._tasks, []
        hands = tuple(self._hands.values())
        await _cancelled([*tasks, *(hand.task for hand in hands)])
        try:
            async with asyncio.timeout(self._pace.close):
                for hand in hands:
                    if hand.job.run_id in self._hands:
                        await self._queue.again(hand.job)
                if self._worker:
                    await self._queue.leave(self._worker)
        except (StoreUnavailable, TimeoutError) as error:
            logger.warning("Runs go to other processes some seconds later: %s", error)
        finally:
            self._hands.clear()
            self._worker = 0

    async def send(self, run_id: RunId, *, only: str = "") -> None:
        """See `Workforce.send`."""
        queue = queue_of(only) if only else ANY
        if (hand := self._hands.get(run_id)) is None:
            await self._queue.add(run_id, queue)
        elif queue not in (ANY, self._own):
            # This process gives it away; it must be done with it first.
            hand.send_on = queue

    def look(self) -> None:
        """There may be places now that there were not before."""
        self._wake.set()

    def waits(self, run_id: RunId, waiting: bool) -> None:
        """See `Workforce.waits`."""
        if (hand := self._hands.get(run_id)) is not None and hand.is_waiting is not waiting:
            hand.is_waiting = waiting
            self._wake.set()

    async def lost(self, run_ids: Collection[RunId]) -> list[RunId]:
        """See `Workforce.lost`."""
        known = await self._queue.known(run_ids) if run_ids else set()
        return [each for each in run_ids if each not in known]

    async def _work(self) -> None:
        """Take runs for as long as there are places, whenever there is reason to look."""
        while True:
            self._wake.clear()
            pause = self._pace.poll
            try:
                while self._places(self._at_work()) and await self._take_one():
                    pass
            except StoreUnavailable as error:
                self._trouble(error)
                pause = self._pace.reconnect
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _at_work(self) -> int:
        return sum(not hand.is_waiting for hand in self._hands.values())

    async def _take_one(self) -> bool:
        # Without the lock a job could be seen as nobody's just when it has been taken.
        async with self._taking:
            if not self._worker:
                self._worker = await self._queue.register()
            try:
                job = await self._queue.fetch(self._worker, (ANY, self._own))
            except NotRegistered:
                self._worker = 0
                return True
            if job is not None:
                self._take(job)
            return job is not None

    def _take(self, job: Job) -> None:
        if (hand := self._hands.get(job.run_id)) is not None:
            # This process was taken for dead, and the run came back to it while it is at it.
            hand.job = job
            return
        hand = self._hands[job.run_id] = _Hand(job=job)
        hand.task = asyncio.create_task(self._carry_out(hand))

    async def _carry_out(self, hand: _Hand) -> None:
        assert self._execute is not None
        run_id = hand.job.run_id
        try:
            await self._execute(run_id)
        except Exception:  # the engine's edge: one run must not stop the others
            logger.exception("Run %s came to no end here", run_id)
        await self._let_go(hand)
        del self._hands[run_id]
        self._wake.set()

    async def _let_go(self, hand: _Hand) -> None:
        while True:
            try:
                await self._queue.finish(hand.job)
                if hand.send_on:
                    await self._queue.add(hand.job.run_id, hand.send_on)
                return
            except StoreUnavailable as error:
                self._trouble(error)
                await asyncio.sleep(self._pace.reconnect)

    async def _live(self) -> None:
        """Tell that this process lives, and see to the runs of those that do not."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(self._pace.beat)
            if loop.time() - last > 2 * self._pace.beat:
                self._steady_since = None
            try:
                await self._beat(loop.time())
            except StoreUnavailable as error:
                self._steady_since = None
                self._trouble(error)
            last = loop.time()

    async def _beat(self, now: float) -> None:
        async with self._taking:
            if self._worker:
                await self._queue.beat(self._worker)
            else:
                self._worker = await self._queue.register()
        if self._is_in_trouble:
            await self._give_back()
            self._is_in_trouble = False
            logger.info("The database can be reached again: runs are shared as before.")
        if self._steady_since is None:
            self._steady_since = now
        # Where the database was away, everybody's heartbeat is old: the others get time to tell.
        if now - self._steady_since >= self._pace.stalled:
            for job in await self._queue.stalled(self._pace.stalled):
                await self._queue.again(job)

    async def _give_back(self) -> None:
        """Jobs that this process was given when the connection broke, so that it knows nothing."""
        async with self._taking:
            held = await self._queue.held(self._worker)
            in_hand = {hand.job.id for hand in self._hands.values()}
        for job in held:
            if job.id not in in_hand:
                await self._queue.again(job)

    async def _listen(self) -> None:
        while True:
            try:
                await self._queue.listen((ANY, self._own), self._wake.set)
            except StoreUnavailable as error:
                self._trouble(error)
            await asyncio.sleep(self._pace.reconnect)
            self._wake.set()

    def _trouble(self, error: StoreUnavailable) -> None:
        if not self._is_in_trouble:
            self._is_in_trouble = True
            logger.warning("Runs cannot be shared now, which is tried again by itself: %s", error)


def queue_of(home: str) -> str:
    """The queue of runs that one process alone may execute."""
    if home.isascii() and len(home) <= _LONGEST_HOME:
        return _HOME + home
    return _HOME + hashlib.sha256(home.encode()).hexdigest()[:_LONGEST_HOME]


async def _cancelled(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
