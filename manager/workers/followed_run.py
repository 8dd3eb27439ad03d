"""A run of a chat of this process that any process may execute: sent, followed, delivered here.

It stands in the line like one that is executed here, and is sent when its turn has come. From then
on its row in the store says how it stands; what happens to it is told here as if it happened here.
When it is brought to this very process, it is executed as any run is that nobody shares.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..errors import LostRun, RunNotFinished, StoreError
from ..models import Failure, Run, RunState, StopReason
from ..run_order import OrderKind
from ..runs.asking import Asking
from ..runs.endings import broken, interrupted, skipped, stopped
from ..runs.kinds import Place
from ..runs.last_write import with_what_it_made, write_last
from ..runs.shielding import carry_through
from ..store.protocol import RunWrite
from .at_home import AtHome
from .crew import Crew
from .orders import Orders
from .question import OpenQuestion
from .retelling import Retelling

logger = logging.getLogger(__name__)

OBEYS_SECONDS = 5.0
"""How long a process has to stop a run before its home takes it away and ends it."""


class FollowedRun:
    """One run that is not over; it can be stopped before it is sent."""

    def __init__(
        self,
        run: Run,
        place: Place,
        crew: Crew,
        *,
        ready: Callable[[Run], Awaitable[str]],
        is_new: bool,
    ) -> None:
        """Set it up.

        Args:
            run: As it is stored, or is about to be.
            place: Where it stands.
            crew: The processes that share the work.
            ready: Makes it ready to be sent; the home that must execute it, "" is any.
            is_new: Whether it was just asked for; else it may be at work somewhere.
        """
        ports = place.ports
        self._run = run
        self._place = place
        self._ports = ports
        self._crew = crew
        self._task: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()
        self._reason: StopReason | None = None
        self._ending = False
        self._is_overdue = False
        self._retelling = Retelling(run, ports.store, ports.bus, from_now=not is_new)
        self._orders = Orders(run, ports.store, crew.sharing.signals, ports.clock)
        self._ready = ready
        self.asking = Asking(ports.clock)
        """Its question, while it waits for the answer."""
        self._at_home = AtHome(place, crew, self.asking, self._orders)
        self._question = OpenQuestion(self.asking, place.settings.question_timeout, self._answered)
        self.only = ""
        """The home that must execute it; "" is any."""
        self.is_sent = run.fence > 0
        """Whether it is another's to bring it on."""
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Run] = loop.create_future()
        """Done once the run is over; cancelled after a shutdown."""
        crew.following.add(run.run_id, self)

    @property
    def run(self) -> Run:
        """The run as it stands."""
        here = self._at_home.execution
        return here.run if here is not None else self._run

    def hand_over(self) -> None:
        """Make it a background run: nobody waits for it any more."""
        self._run = replace(self._run, background=True)
        if (here := self._at_home.execution) is not None:
            here.hand_over()
        else:
            self._order("hand_over")

    def stop(self, reason: StopReason) -> None:
        """Stop it wherever it is; the first reason counts."""
        if self._reason is not None or self._ending:
            return
        self._reason = reason
        if (here := self._at_home.execution) is not None:
            here.stop(reason)
        elif self.is_sent:
            self._have_it_stopped(reason)
        elif self._task is not None:
            self._task.cancel()

    def _have_it_stopped(self, reason: StopReason) -> None:
        self._order("stop", reason.value)
        clock = self._ports.clock
        clock.call_at(clock.monotonic() + OBEYS_SECONDS, self._take_it_away)

    def _take_it_away(self) -> None:
        self._is_overdue = True
        self.stir()

    def steer(self, text: str) -> bool:
        """Have the child told something before its next model call; False: it is too late."""
        if (here := self._at_home.execution) is not None:
            return here.steer(text)
        if self._ending or self._reason is not None:
            return False
        self._order("steer", text)
        return True

    async def ask(self, question: str) -> str | None:
        """Let the child, which is at work here, wait for an answer."""
        if (here := self._at_home.execution) is None:
            raise RunNotFinished(self._run.run_id, self._run.state)
        return await here.ask(question)

    def _answered(self, question: str, answer: str) -> None:
        self._orders.add("answer", answer, about=question)
        self.stir()

    def _order(self, kind: OrderKind, text: str = "") -> None:
        self._orders.add(kind, text)
        self.stir()

    def let_go(self) -> None:
        """Its task is over, even if it never began: nobody may wait for it any more."""
        self._ports.line.leave(self._run.run_id)
        self._crew.following.remove(self._run.run_id, self)
        self._question.close()
        if not self.done.done():
            self.done.cancel()

    def stir(self) -> None:
        """Something may have changed: look."""
        self._stirred.set()

    async def execute(self) -> None:
        """Send the run, which is stored, and follow it to its end."""
        self._task = asyncio.current_task()
        try:
            await self._carry()
        except asyncio.CancelledError:
            # a shutdown: who executes the run goes on, and the next start follows it again
            await self._leave()
            raise
        except BaseException as error:
            # whatever broke, a run that nobody follows any more must not stay without an end
            logger.exception("Run %s is followed no more", self._run.run_id)
            cause = error
            if not self._run.is_over:
                await self._end_here(lambda run: broken(run, cause, self._ports.clock.now()))
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise
        finally:
            self.let_go()

    async def _carry(self) -> None:
        try:
            if self._reason is not None:
                raise asyncio.CancelledError
            self._begin_anew()
            if not self.is_sent and not await self._send():
                return
        except asyncio.CancelledError:
            if self._reason is None:
                raise
            if not self.is_sent:
                await self._finish(stopped(self._run, self._reason, self._ports.clock.now()))
                return
            self._have_it_stopped(self._reason)
        await self._follow()

    def _begin_anew(self) -> None:
        """Open the question of a run that was taken up with it; nobody waits for such a run."""
        if self.is_sent:
            self._order("hand_over")
            self._question.see(self._run)
        if self._run.state is RunState.WAITING:
            self._publish(retold=True)

    async def _leave(self) -> None:
        """Have who executes it know that nobody waits for it any more."""
        if self._run.is_over or self._at_home.is_busy:
            return
        if not self._run.background:
            self._orders.add("hand_over")
        try:
            await carry_through(self._orders.give())
        except StoreError as error:
            logger.info("Run %s is left as it is: %s", self._run.run_id, error)

    async def _send(self) -> bool:
        """Wait for predecessors and a place, and send it; False when it is over instead."""
        if self._place.gate is not None:
            if (failed := await self._place.gate.opens()) is not None:
                await self._finish(skipped(self._run, failed, self._ports.clock.now()))
                return False
            self._ports.line.join(self._place.ticket)
        await self._place.ticket.ready
        await self._ports.caught_up(self._run.conversation)
        self.only = await self._ready(self._run)
        self.is_sent = True
        try:
            await self._crew.send(self._run.run_id, only=self.only)
        except StoreError as error:
            logger.warning("Run %s could not be sent yet: %s", self._run.run_id, error)
        return True

    async def _follow(self) -> None:
        while not self._run.is_over:
            self._stirred.clear()
            if self._at_home.is_busy:
                await self._while_at_home()
                continue
            try:
                await self._look()
            except StoreError as error:
                logger.warning("Run %s could not be looked at: %s", self._run.run_id, error)
            if not self._run.is_over:
                await self._stirred.wait()
        await self._orders.forget()

    async def _look(self) -> None:
        await self._orders.give()
        row = await self._ports.store.find_run(self._run.run_id)
        if row is None:
            # its session was deleted
            raise asyncio.CancelledError
        await self._retelling.tell()
        if self._at_home.is_busy:
            return
        self._see(row)
        if self._reason is None or self._run.is_over:
            return
        if row.state is RunState.QUEUED or self._is_overdue:
            reason = self._reason
            await self._end_here(lambda run: stopped(run, reason, self._ports.clock.now()))

    def _see(self, row: Run) -> None:
        """Take over what the row says, and tell of it."""
        before, row = self._run, replace(row, background=self._run.background)
        spent = replace(
            row.usage,
            input=row.usage.input - before.usage.input,
            cached=row.usage.cached - before.usage.cached,
            output=row.usage.output - before.usage.output,
        )
        self._ports.day.add(spent, self._ports.clock.now())
        if row.is_over:
            self._tell_end(row, retold=True)
            return
        self._run = row
        self._question.see(row)
        if (row.state, row.fence, row.question) == (before.state, before.fence, before.question):
            return
        self._begin_before(before, row)
        if row.state is RunState.WAITING:
            self._ports.line.park(row.run_id)
        elif before.state is RunState.WAITING:
            self._ports.line.unpark(row.run_id)
        self._publish(retold=True)

    def _begin_before(self, before: Run, row: Run) -> None:
        """Tell of the beginning of a run that was seen too late for it."""
        if before.fence == 0 < row.fence and row.state is not RunState.RUNNING:
            began = replace(row, state=RunState.RUNNING, question="", fence=1, steps=0)
            self._ports.bus.run_changed(
                replace(began, failure=None, finished_at=None),
                row.started_at or self._ports.clock.now(),
                retold=True,
            )

    async def execute_here(self) -> None:
        """The run was brought to its own home: execute it, and return once it is over or lost."""
        if self._at_home.is_busy or self._ending or self._reason is not None:
            self.stir()
            return
        await self._at_home.work(self._run, self._refuse, self._begin_at_home)

    def _begin_at_home(self) -> None:
        self._question.close()
        self.stir()

    async def _refuse(self, failure: Failure) -> None:
        await self._end_here(lambda run: interrupted(run, failure, self._ports.clock.now()))

    async def _while_at_home(self) -> None:
        """Wait while it is executed in this process."""
        here = await self._at_home.ended()
        if here is None:
            return
        if here.done.done() and not here.done.cancelled():
            self._run = here.done.result()
            if not self.done.done():
                self.done.set_result(self._run)
            return
        # somebody else has it: its place here is kept until it is over
        self._run = here.run
        self._ports.line.unpark(self._run.run_id)
        await self._retelling.skip()
        if self._reason is not None:
            self._have_it_stopped(self._reason)

    async def _end_here(self, end: Callable[[Run], Run]) -> None:
        """Take the run away from whoever has it, and write its end."""
        while not self._run.is_over:
            mine = replace(self._run, executor=self._crew.executor)
            taken, cancelled = await carry_through(self._ports.store.take_run(mine))
            if cancelled:
                raise asyncio.CancelledError
            if taken is None:
                # it came to an end of its own meanwhile
                row = await self._ports.store.find_run(self._run.run_id)
                if row is None:
                    raise asyncio.CancelledError
                self._see(row)
                return
            self._run = replace(taken, background=self._run.background)
            try:
                await self._finish(end(self._run))
            except LostRun:
                logger.info("Run %s was taken while it was stopped", self._run.run_id)

    async def _finish(self, run: Run) -> None:
        """Write the end; a stop that comes now is too late, a shutdown waits for the write."""
        self._ending = True
        try:
            _, cancelled = await carry_through(self._write_end(run))
        except LostRun:
            self._ending = False
            raise
        if cancelled:
            raise asyncio.CancelledError

    async def _write_end(self, run: Run) -> None:
        run = replace(await with_what_it_made(self._ports, run), background=self._run.background)
        write = RunWrite(run=run, delivery=self._ports.delivery(run))
        await write_last(self._ports, write, lambda: self._tell_end(run, retold=False))
        # so that who executes it notices at once
        await self._crew.tell_run(run.run_id)

    def _tell_end(self, run: Run, *, retold: bool) -> None:
        # who waited for it may have gone meanwhile
        run = replace(run, background=self._run.background)
        before, self._run = self._run, run
        self._ending = True
        self._question.close()
        if retold:
            self._begin_before(before, run)
        # before anyone is told, so that who hears of the end finds the place free
        self._ports.line.leave(run.run_id)
        self._ports.over(run)
        self._publish(retold=retold)
        if not self.done.done():
            self.done.set_result(run)

    def _publish(self, *, retold: bool) -> None:
        self._ports.bus.run_changed(self._run, self._ports.clock.now(), retold=retold)
