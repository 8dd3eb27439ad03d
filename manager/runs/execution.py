"""One run from queued to its end, as one task.

It waits for its place, takes the run, has the host drive the child, and writes the end together
with the delivery. It never raises but `CancelledError` and what ends the process; what happens to
the result is the outbox's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ..errors import LostRun, ShuttingDown, SubAgentError
from ..events import EventBus, RunChanged
from ..host import AgentDriver, AgentRequest, Clock
from ..models import ConversationId, Delivery, Run, RunState, StopReason
from ..settings import Settings
from ..store.protocol import RunWrite, Store
from .budget import Budget, DayTokens, LimitHit
from .clocks import RunClocks
from .endings import broken, ended, stopped
from .line import Line, Ticket
from .missed import write_end
from .recorder import RecorderPorts, RunRecorder
from .shielding import carry_through
from .state import advance

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 1.0
"""How long whoever waits for a run waits for its end to be stored, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPorts:
    """What an execution works with; the same for all runs of a session."""

    driver: AgentDriver
    store: Store
    clock: Clock
    bus: EventBus
    line: Line
    day: DayTokens
    prepare: Callable[[Run], Awaitable[AgentRequest]]
    """Makes the child's request when the run starts, so that everything is looked up late."""
    delivery: Callable[[Run], Delivery | None]
    """The outbox row that this run's end brings."""
    over: Callable[[Run], None]
    """Told once when the run has ended and is written."""
    missed: Callable[[RunWrite], None]
    """Told of an end that the store would not take, so that it is written later."""
    caught_up: Callable[[ConversationId], Awaitable[None]]
    """Returns once all that was missed of a conversation is written."""
    keep: Callable[[Run], Awaitable[Run]]
    """Puts what the child made where it stays; gives the run that names it there."""


class Execution:
    """One run that is not over."""

    def __init__(
        self,
        run: Run,
        ticket: Ticket,
        ports: ExecutionPorts,
        settings: Settings,
        *,
        news: Callable[[], tuple[str, ...]],
        max_steps: int,
    ) -> None:
        self._run = run
        self._ticket = ticket
        self._ports = ports
        self._settings = settings
        self._news = news
        self._max_steps = max_steps
        self._recorder: RunRecorder | None = None
        self._clocks: RunClocks | None = None
        self._task: asyncio.Task[None] | None = None
        self._reason: StopReason | None = None
        self._ending = False
        loop = asyncio.get_running_loop()
        self.accepted: asyncio.Future[Run] = loop.create_future()
        """Done once a new run is stored; holds the error when it could not be."""
        self.done: asyncio.Future[Run] = loop.create_future()
        """Done once the run is over; cancelled when it ends elsewhere or after a shutdown."""

    @property
    def run(self) -> Run:
        """The run as it stands."""
        return self._recorder.run if self._recorder is not None else self._run

    def hand_over(self) -> None:
        """Make it a background run: nobody waits for it any more."""
        if self._recorder is not None:
            self._recorder.run = replace(self._recorder.run, background=True)
        else:
            self._run = replace(self._run, background=True)

    def stop(self, reason: StopReason) -> None:
        """Stop the child; the first reason counts, and an end that is being written stands."""
        if self._reason is None and not self._ending:
            self._reason = reason
            # a task that is cancelled before its first step never runs: `execute` looks itself
            if self._task is not None:
                self._task.cancel()

    def let_go(self) -> None:
        """Its task is over, even if it never began: nobody may wait for it any more."""
        self._ports.line.leave(self._run.run_id)
        if not self.accepted.done():
            self.accepted.set_exception(ShuttingDown())
        if not self.done.done():
            self.done.cancel()

    async def execute(self, *, new: bool) -> None:
        """Carry the run to its end; a new one is stored first."""
        self._task = asyncio.current_task()
        try:
            await self._carry(new=new)
        except asyncio.CancelledError:
            # a shutdown: the run stays as it is, the next start takes care of it
            raise
        except LostRun:
            logger.warning("Run %s was taken over by another process", self._run.run_id)
        except BaseException as error:
            # whatever broke, a run that nobody works on any more must not stay without an end
            logger.exception("Run %s broke off", self._run.run_id)
            if not self.run.is_over:
                await self._finish(broken(self.run, error, self._ports.clock.now()))
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise
        finally:
            self.let_go()

    async def _carry(self, *, new: bool) -> None:
        try:
            if new and not await self._accept():
                return
            if self._reason is not None:
                raise asyncio.CancelledError
            await self._ticket.ready
            run = await self._work()
            if run is not None:
                await self._finish(self._unless_stopped(run))
        except asyncio.CancelledError:
            if self._reason is None:
                raise
            if not self._ending:
                await self._finish(stopped(self.run, self._reason, self._ports.clock.now()))

    async def _accept(self) -> bool:
        try:
            _, cancelled = await carry_through(self._ports.store.add_runs([self._run]))
        except Exception as error:  # noqa: BLE001 - it is raised to whoever starts the run
            self._ports.line.leave(self._run.run_id)
            if not self.accepted.done():
                self.accepted.set_exception(error)
            return False
        self._publish_state()
        if not self.accepted.done():
            self.accepted.set_result(self._run)
        if cancelled:
            raise asyncio.CancelledError
        return True

    async def _take(self) -> bool:
        clock = self._ports.clock
        started_at = self._run.started_at or clock.now()
        wanted = advance(self._run, RunState.RUNNING, started_at=started_at)
        taken, cancelled = await carry_through(self._ports.store.take_run(wanted))
        if taken is not None:
            self._run = replace(taken, background=self._run.background)
        if cancelled:
            raise asyncio.CancelledError
        if taken is None:
            logger.warning("Run %s was over before it began", self._run.run_id)
            return False
        self._publish_state()
        return True

    async def _work(self) -> Run | None:
        """The run with its end; None when there was nothing to do any more."""
        ports = self._ports
        try:
            if self._run.state is RunState.QUEUED and not await self._take():
                return None
            await ports.caught_up(self._run.conversation)
            request = await ports.prepare(self._run)
            outcome = await ports.driver.drive(request, await self._start_recorder())
            return ended(self.run, outcome, ports.clock.now())
        except (LostRun, SystemExit, KeyboardInterrupt):
            raise
        except asyncio.CancelledError as error:
            if self._is_cancelled():
                raise
            # nobody asked for it: something inside the child was cancelled
            return broken(self.run, error, ports.clock.now())
        except (LimitHit, SubAgentError) as error:
            return broken(self.run, error, ports.clock.now())
        except BaseException as error:
            # tools raise more than `Exception`: groups, and what other languages panic with
            logger.exception("Run %s failed", self._run.run_id)
            return broken(self.run, error, ports.clock.now())
        finally:
            if self._clocks is not None:
                self._clocks.close()

    def _is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelling() > 0

    def _unless_stopped(self, run: Run) -> Run:
        """The end that the child came to, unless the driver made it out of a cancellation."""
        if self._is_cancelled() and run.state is not RunState.COMPLETED:
            raise asyncio.CancelledError
        return run

    async def _start_recorder(self) -> RunRecorder:
        ports = self._ports
        last_seq = await ports.store.last_seq(self._run.conversation)
        self._clocks = RunClocks(
            ports.clock,
            total=self._seconds_left(),
            idle=self._settings.idle_timeout,
            stop=self.stop,
        )
        self._recorder = RunRecorder(
            self._run,
            RecorderPorts(store=ports.store, clock=ports.clock, bus=ports.bus, news=self._news),
            budget=Budget(self._settings, ports.day, max_steps=self._max_steps),
            clocks=self._clocks,
            next_seq=last_seq + 1,
        )
        self._clocks.start()
        return self._recorder

    def _seconds_left(self) -> float:
        total = self._settings.execution_timeout
        if not total or self._run.started_at is None:
            return total
        used = (self._ports.clock.now() - self._run.started_at).total_seconds()
        return max(0.001, total - used)

    async def _finish(self, run: Run) -> None:
        """Write the end; a stop that comes now is too late, a shutdown waits for the write."""
        self._ending = True
        _, cancelled = await carry_through(self._write_end(run))
        if cancelled:
            raise asyncio.CancelledError

    async def _write_end(self, run: Run) -> None:
        ports = self._ports
        run = await self._kept(run)
        steps, messages = self._recorder.take_unwritten() if self._recorder else ((), ())
        write = RunWrite(run=run, steps=steps, messages=messages, delivery=ports.delivery(run))
        writing = asyncio.ensure_future(write_end(ports.store, write, rows_may_go=False))
        await self._a_while(writing)
        if writing.done() and isinstance(writing.exception(), LostRun | None):
            writing.result()
        else:
            # the result is handed over from memory all the same
            ports.missed(write)
        self._tell_end(run)
        try:
            await writing
        except LostRun:
            logger.info("The end of run %s was stored by a later attempt", run.run_id)
        except Exception:
            logger.exception("The end of run %s could not be stored yet", run.run_id)

    async def _kept(self, run: Run) -> Run:
        try:
            return await self._ports.keep(run)
        except Exception:
            logger.exception("What run %s made could not be kept", run.run_id)
            return replace(run, artifacts=tuple(replace(i, path="") for i in run.artifacts))

    async def _a_while(self, writing: asyncio.Future[None]) -> None:
        """Wait for a write, but not for long."""
        clock, over = self._ports.clock, asyncio.Event()
        take_back = clock.call_at(clock.monotonic() + _PATIENCE_SECONDS, over.set)
        writing.add_done_callback(lambda _: over.set())
        try:
            await over.wait()
        finally:
            take_back()

    def _tell_end(self, run: Run) -> None:
        ports = self._ports
        self._run, self._recorder = run, None
        # before anyone is told, so that who hears of the end finds the place free
        ports.line.leave(run.run_id)
        ports.over(run)
        self._publish_state()
        if not self.done.done():
            self.done.set_result(run)

    def _publish_state(self) -> None:
        run = self._run
        self._ports.bus.publish(
            RunChanged(session=run.session, at=self._ports.clock.now(), run=run)
        )
