"""One run from queued to its end, as one task.

It waits for its place, takes the run, has the host drive the child, and writes the end together
with the delivery. It never raises but `CancelledError` and what ends the process; what happens to
the result is the outbox's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..errors import LostRun, RunNotFinished, SubAgentError
from ..host import AgentRequest
from ..models import Run, RunState, StopReason
from ..settings import Settings
from ..store.protocol import RunWrite
from ..task_shape import AgentType
from .asking import Asking
from .budget import Budget, LimitHit
from .clocks import RunClocks
from .endings import broken, ended, skipped, stopped
from .execution_ports import ExecutionPorts
from .graph import Gate
from .last_write import with_what_it_made, write_last
from .line import Ticket
from .phases import Phases
from .recorder import RecorderPorts, RunRecorder
from .resume import answered_note, stored_seq
from .shielding import carry_through
from .state import advance

logger = logging.getLogger(__name__)


class Execution:
    """One run that is not over; it can be stopped before it is stored and begins."""

    def __init__(
        self,
        run: Run,
        ticket: Ticket,
        ports: ExecutionPorts,
        settings: Settings,
        *,
        news: Callable[[], Awaitable[tuple[str, ...]]],
        gate: Gate | None = None,
    ) -> None:
        self._run = run
        self._gate = gate
        self._ticket = ticket
        self._ports = ports
        self._settings = settings
        self._news = news
        self._recorder: RunRecorder | None = None
        self._clocks: RunClocks | None = None
        self._task: asyncio.Task[None] | None = None
        self._reason: StopReason | None = None
        self._ending = False
        self._answered = ""
        self._told: list[str] = []
        self.keeps_place = False
        """Whether somebody else sees to its place in the line: where it ends here it may go on
        elsewhere, and what waits for its agent may not begin."""
        self.has_all_its_time = False
        """Whether its time limit counts from now: how long the bot was down is not known."""
        self.asking = Asking(ports.clock)
        """Its question, while it waits for the answer."""
        loop = asyncio.get_running_loop()
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

    def steer(self, text: str) -> bool:
        """Have the child told something before its next model call; False: it is too late."""
        if self._ending or (self._recorder is not None and self._recorder.is_past_telling):
            return False
        self._told.append(text)
        return True

    def _steering(self) -> str:
        """What its principal tells the child now; "" is nothing."""
        told, self._told = self._told, []
        if not told:
            return ""
        return "\n".join(["Message from your principal; follow it:", *told])

    async def ask(self, question: str) -> str | None:
        """Let the child wait for an answer: its clocks stand still, its place is free.

        Returns:
            The answer; None when nobody gave one in time.
        """
        if self._recorder is None or self._clocks is None:
            raise RunNotFinished(self._run.run_id, self._run.state)
        self._clocks.pause()
        self._ports.line.park(self._run.run_id)
        # open before anyone sees that it waits, so that who does can answer at once
        answer = self.asking.open(self._settings.question_timeout)
        try:
            await self._recorder.advance(RunState.WAITING, question=question)
            self._publish_state()
            text = await answer
        finally:
            self.asking.close()
        await self._come_back(self._recorder, self._ports.line.unpark(self._run.run_id))
        self._clocks.resume()
        return text

    async def _come_back(self, recorder: RunRecorder, place: asyncio.Future[None]) -> None:
        """Go on after a question, once there is a place again."""
        if not place.done():
            await recorder.advance(RunState.QUEUED, question="")
            self._publish_state()
            await place
        await recorder.advance(RunState.RUNNING, question="")
        self._publish_state()

    def let_go(self) -> None:
        """Its task is over, even if it never began: nobody may wait for it any more."""
        if not self.keeps_place:
            self._ports.line.leave(self._run.run_id)
        if not self.done.done():
            self.done.cancel()

    async def execute(self) -> None:
        """Carry the run, which is stored, to its end."""
        self._task = asyncio.current_task()
        try:
            await self._carry()
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

    async def _carry(self) -> None:
        try:
            if self._reason is not None:
                raise asyncio.CancelledError
            await self._ports.driver.until_up()
            run = await self._past_gate() or await self._work()
            if run is not None:
                await self._finish(self._unless_stopped(run))
        except asyncio.CancelledError:
            if self._reason is None:
                raise
            if not self._ending:
                await self._finish(stopped(self.run, self._reason, self._ports.clock.now()))

    async def _past_gate(self) -> Run | None:
        """Wait for predecessors, a place and its turn; the run with its end if it cannot start."""
        if self._run.state is RunState.WAITING:
            await self._past_question()
        elif self._gate is not None:
            if (failed := await self._gate.opens()) is not None:
                return skipped(self._run, failed, self._ports.clock.now())
            self._ports.line.join(self._ticket)
        await self._ticket.ready
        await self._ports.pace.turn()
        return None

    async def _past_question(self) -> None:
        """Wait for the answer of a run that was taken up with its question still open."""
        question = self._run.question
        answer = self.asking.open(self._settings.question_timeout)
        try:
            self._publish_state()
            self._answered = answered_note(question, await answer)
        finally:
            self.asking.close()
        self._run = advance(self._run, RunState.QUEUED, question="")
        self._publish_state()
        await self._ports.line.unpark(self._run.run_id)

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
            request = await self._prepared()
            outcome = await ports.driver.drive(request, await self._start_recorder(request))
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

    async def _prepared(self) -> AgentRequest:
        request = await self._ports.prepare(self._run)
        if not self._answered:
            return request
        return replace(request, notes=(*request.notes, self._answered))

    def _is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelling() > 0

    def _unless_stopped(self, run: Run) -> Run:
        """The end that the child came to, unless the driver made it out of a cancellation."""
        if self._is_cancelled() and run.state is not RunState.COMPLETED:
            raise asyncio.CancelledError
        return run

    async def _start_recorder(self, request: AgentRequest) -> RunRecorder:
        ports = self._ports
        phases = Phases(self._run.task.agent_type if self._run.task else AgentType.REACT)
        phases.catch_up(request.resume)
        last_seq = await stored_seq(self._run, ports.store)
        self._clocks = RunClocks(
            ports.clock,
            total=self._seconds_left(),
            idle=self._settings.idle_timeout,
            stop=self.stop,
        )
        self._recorder = RunRecorder(
            self._run,
            RecorderPorts(
                store=ports.store,
                clock=ports.clock,
                bus=ports.bus,
                news=self._news,
                steering=self._steering,
            ),
            budget=Budget(self._settings, ports.day, max_steps=self._max_steps()),
            clocks=self._clocks,
            next_seq=last_seq + 1,
            phases=phases,
        )
        self._clocks.start()
        return self._recorder

    def _max_steps(self) -> int:
        wanted = self._run.task.max_steps if self._run.task else 0
        return wanted or self._settings.max_steps

    def _seconds_left(self) -> float:
        total = self._settings.execution_timeout
        # how long one had waited for an answer when it was taken up is not known: it has all again
        if not total or self._run.started_at is None or self._answered or self.has_all_its_time:
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
        run = replace(await with_what_it_made(ports, run), background=self.run.background)
        steps, messages = self._recorder.take_unwritten() if self._recorder else ((), ())
        write = RunWrite(run=run, steps=steps, messages=messages, delivery=ports.delivery(run))
        await write_last(ports, write, lambda: self._tell_end(run))

    def _tell_end(self, run: Run) -> None:
        ports = self._ports
        # who waited for it may have gone while its end was written
        run = replace(run, background=self.run.background)
        self._run, self._recorder = run, None
        # before anyone is told, so that who hears of the end finds the place free
        ports.line.leave(run.run_id)
        ports.over(run)
        self._publish_state()
        if not self.done.done():
            self.done.set_result(run)

    def _publish_state(self) -> None:
        self._ports.bus.run_changed(self.run, self._ports.clock.now())
