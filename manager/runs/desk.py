"""The run desk: all runs of one session, from their start to the handing over of results."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ..artifacts import keep_artifacts
from ..errors import RunNotFound, ShuttingDown
from ..fork_context import ForkContext
from ..host import AgentRequest
from ..models import (
    GroupId,
    Run,
    RunId,
    RunState,
    SessionId,
    StopReason,
)
from ..names import name_key
from ..services import Services
from ..settings import Settings
from .budget import DayTokens
from .execution import Execution
from .execution_ports import ExecutionPorts
from .graph import Gate
from .line import Ticket
from .missed import MissedEnds
from .outbox import Outbox
from .questions import Questions
from .results import ResultDesk
from .shielding import carry_through
from .state import advance
from .supervisor import Supervisor
from .waiting import until_over

logger = logging.getLogger(__name__)

_MOST = 10_000
"""Runs of one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOutcome:
    """What a wait saw."""

    finished: tuple[Run, ...]
    unfinished: tuple[Run, ...]
    closing: bool = False
    """The plugin is being reloaded or stopped: the rest goes on after that."""


class Children(Protocol):
    """What the desk needs to know of the children that it lets run."""

    async def request(self, run: Run) -> AgentRequest:
        """All that a run's child needs, looked up when the run starts."""
        ...

    def news(self, run_id: RunId) -> tuple[str, ...]:
        """What a running child has not been told yet."""
        ...

    def forget(self, run_id: RunId) -> None:
        """The run's task is done."""
        ...


class RunDesk:
    """Starts, finds, awaits and stops the runs of one session."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        supervisor: Supervisor,
        *,
        day: DayTokens,
        children: Children,
    ) -> None:
        self._session = session
        self._services = services
        self._supervisor = supervisor
        self._live: dict[RunId, Execution] = {}
        self._ended: dict[RunId, Run] = {}
        self._left: dict[RunId, Run] = {}
        """Written while the plugin is closing: the next start takes them up."""
        self._early: dict[RunId, StopReason | None] = {}
        """Being written, and why they are to stop as soon as they are."""
        self._children = children
        self.questions = Questions(self._live)
        """What the runs ask."""
        outbox = Outbox(session, services.store)
        self._missed = MissedEnds(session, services, supervisor, outbox)
        self.results = ResultDesk(session, services, outbox, self._missed, runs=self)
        """The way of results to turns."""
        self._ports = ExecutionPorts(
            driver=services.host,
            store=services.store,
            clock=services.clock,
            bus=services.bus,
            line=supervisor.line,
            day=day,
            prepare=children.request,
            delivery=self.results.delivery,
            over=self._over,
            missed=self._missed.add,
            caught_up=self._missed.caught_up,
            keep=partial(keep_artifacts, files=services.files),
        )

    async def start(self, run: Run, settings: Settings) -> Run:
        """Accept a run: it has a place at once or stands in the line.

        Raises:
            ShuttingDown: Nothing new starts.
            StoreUnavailable: It could not be written; nothing was started.
        """
        self._refuse_when_closing()
        ticket = _ticket(run)
        run = self._placed(run, ticket)
        execution = self._execute(run, ticket, settings, new=True)
        try:
            return await execution.accepted
        except asyncio.CancelledError:
            execution.stop(StopReason.TURN)
            raise
        except Exception:
            self._live.pop(run.run_id, None)
            raise

    async def start_group(
        self, runs: Sequence[Run], settings: Settings, *, fork: ForkContext | None
    ) -> list[Run]:
        """Accept all runs of a group, or none; each starts once its predecessors are completed.

        Args:
            runs: Those that others depend on may stand anywhere.
            settings: What they are limited by.
            fork: What forks among them begin with.

        Raises:
            ShuttingDown: Nothing new starts.
            StoreUnavailable: They could not be written; nothing was started.
        """
        self._refuse_when_closing()
        tickets = [_ticket(run) for run in runs]
        accepted = [self._placed(run, ticket) for run, ticket in zip(runs, tickets, strict=True)]
        self._early |= dict.fromkeys(run.run_id for run in runs)
        try:
            cancelled = await self._write_group(accepted, fork)
        finally:
            early = {run.run_id: self._early.pop(run.run_id) for run in runs}
        if self._supervisor.closing:
            self._left |= {run.run_id: run for run in accepted}
        else:
            for run, ticket in zip(accepted, tickets, strict=True):
                self._execute(run, ticket, settings, new=False).accepted.set_result(run)
        for run in accepted:
            self._tell(run)
            if reason := early[run.run_id] or (StopReason.TURN if cancelled else None):
                self.stop(run.run_id, reason)
        if cancelled:
            raise asyncio.CancelledError
        return accepted

    async def _write_group(self, runs: Sequence[Run], fork: ForkContext | None) -> bool:
        """Write the runs of a group; whether the caller was cancelled meanwhile."""
        try:
            _, cancelled = await carry_through(self._services.store.add_runs(runs, fork=fork))
        except BaseException as error:
            for run in runs:
                self._supervisor.line.leave(run.run_id)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError from error
            raise
        return cancelled

    def _refuse_when_closing(self) -> None:
        if self._supervisor.closing:
            raise ShuttingDown

    def _placed(self, run: Run, ticket: Ticket) -> Run:
        """A new run with its place: at work, in the line, or waiting for its predecessors."""
        run = replace(run, executor=self._services.executor)
        if run.depends_on:
            return run
        self._supervisor.line.join(ticket)
        if not ticket.ready.done():
            return run
        at = self._services.clock.now()
        return advance(run, RunState.RUNNING, started_at=at, fence=1)

    def take_up(self, run: Run, settings: Settings) -> None:
        """Go on with a run that a reload of the plugin or a restart of the bot cut off."""
        ticket = _ticket(run)
        is_ours = run.executor == self._services.executor
        if run.state is RunState.RUNNING:
            run = advance(run, RunState.QUEUED)
        run = replace(run, background=True, executor=self._services.executor)
        if run.state is RunState.WAITING:
            self._supervisor.line.hold(ticket)
        elif not run.depends_on:
            self._supervisor.line.join(ticket)
        execution = self._execute(run, ticket, settings, new=False)
        execution.has_all_its_time = not is_ours
        execution.accepted.set_result(run)
        self._tell(run)

    def _execute(self, run: Run, ticket: Ticket, settings: Settings, *, new: bool) -> Execution:
        execution = Execution(
            run,
            ticket,
            self._ports,
            settings,
            news=lambda: self._children.news(run.run_id),
            gate=self._gate(run) if run.depends_on else None,
        )
        task = self._supervisor.start(execution.execute(new=new), name=f"run {run.run_id}")
        self._live[run.run_id] = execution

        def let_go(_: object) -> None:
            self._live.pop(run.run_id, None)
            self._children.forget(run.run_id)
            execution.let_go()

        task.add_done_callback(let_go)
        return execution

    def _gate(self, run: Run) -> Gate:
        def end_of(run_id: RunId) -> asyncio.Future[Run] | None:
            execution = self._live.get(run_id)
            return execution.done if execution is not None else None

        return Gate(run, clock=self._services.clock, find=self.find, end_of=end_of)

    def _tell(self, run: Run) -> None:
        self._services.bus.run_changed(run, self._services.clock.now())

    def _over(self, run: Run) -> None:
        self._ended[run.run_id] = run
        self._live.pop(run.run_id, None)
        self.results.add(run)

    def let_go(self, run_id: RunId) -> None:
        """The result of an ended run is read: the store is enough from now on."""
        self._ended.pop(run_id, None)

    def is_idle(self) -> bool:
        """Whether nothing is kept here that is not in the store."""
        return not self._live and self.results.is_stored()

    def live(self, agent: str | None = None) -> list[Run]:
        """Unfinished runs, oldest first; `agent` is matched without regard to case."""
        runs = [execution.run for execution in self._live.values()]
        if agent is None:
            return runs
        key = name_key(agent)
        return [run for run in runs if run.agent is not None and name_key(run.agent) == key]

    def turns_at_work(self) -> frozenset[str]:
        """Ids of the turns that unfinished runs were asked for in."""
        return frozenset(run.origin.turn_id for run in self.live())

    def position(self, run_id: RunId) -> int | None:
        """The run's place in the line of the whole process; None when it is not waiting."""
        return self._supervisor.line.position(run_id)

    def free_places(self) -> int:
        """How many more runs of this session could start now."""
        return self._supervisor.line.free_places(self._session)

    async def group(self, group_id: GroupId) -> list[Run]:
        """The runs of a group in the order of their call; empty when there is none."""
        stored = await self._services.store.list_runs(self._session, group=group_id, limit=_MOST)
        runs = [self._in_memory(run.run_id) or run for run in stored]
        return sorted(runs, key=lambda run: run.task.position if run.task else 0)

    async def find(self, run_id: str) -> Run:
        """One run of this session.

        Raises:
            RunNotFound: There is none of that id here.
        """
        key = RunId(run_id)
        run = self._in_memory(key) or await self._services.store.get_run(self._session, key)
        if run is None:
            raise RunNotFound(run_id, [*self._live, *self._ended])
        return run

    def _in_memory(self, run_id: RunId) -> Run | None:
        """A run as it stands where that is newer than the store; None: the store knows it."""
        if (execution := self._live.get(run_id)) is not None:
            return execution.run
        return self._ended.get(run_id) or self._left.get(run_id)

    async def of_agent(self, agent: str) -> list[Run]:
        """The newest runs of an agent, newest first, as they stand."""
        stored = await self._services.store.list_runs(self._session, agent=agent)
        return [self._in_memory(run.run_id) or run for run in stored]

    async def wait(
        self, run_ids: Sequence[RunId], *, wait_for_all: bool, timeout_seconds: float
    ) -> WaitOutcome:
        """Wait until all or one of these runs are over, one asks something, or the time is up.

        Raises:
            RunNotFound: One of them is not of this session.
        """
        live = {run_id: self._live[run_id] for run_id in run_ids if run_id in self._live}
        seen = {run_id: await self.find(run_id) for run_id in run_ids if run_id not in live}
        if live and (wait_for_all or len(live) == len(run_ids)):
            futures = [execution.done for execution in live.values()]
            await until_over(
                futures,
                [execution.asking.asked for execution in live.values()],
                wait_for_all=wait_for_all,
                timeout_seconds=timeout_seconds,
                clock=self._services.clock,
                supervisor=self._supervisor,
            )
        for run_id, execution in live.items():
            # one that another process has taken over is as it stands in the store
            lost = execution.done.cancelled() and not self._supervisor.closing
            seen[run_id] = await self.find(run_id) if lost else execution.run
        runs = [seen[run_id] for run_id in run_ids]
        return WaitOutcome(
            finished=tuple(run for run in runs if run.is_over),
            unfinished=tuple(run for run in runs if not run.is_over),
            closing=self._supervisor.closing,
        )

    def stop(self, run_id: RunId, reason: StopReason) -> None:
        """Stop a run; one that is over or ending stays as it is."""
        if execution := self._live.get(run_id):
            execution.stop(reason)
        elif run_id in self._early:
            self._early[run_id] = self._early[run_id] or reason

    async def stopped(self, run_ids: Collection[RunId], reason: StopReason) -> list[Run]:
        """Stop runs and wait until they are written."""
        for run_id in run_ids:
            self.stop(run_id, reason)
        executions = [self._live[i] for i in run_ids if i in self._live]
        if executions:
            await asyncio.wait([execution.done for execution in executions])
        return [execution.run for execution in executions]

    def steer(self, run_id: RunId, text: str) -> bool:
        """Let a run's child be told something before its next model call; False: it is over."""
        execution = self._live.get(run_id)
        return execution is not None and execution.steer(text)

    def hand_over(self, run_id: RunId) -> None:
        """Make a foreground run a background one, also when it is over but nobody was told."""
        if execution := self._live.get(run_id):
            execution.hand_over()
        elif run := self._ended.get(run_id):
            self._ended[run_id] = replace(run, background=True)


def _ticket(run: Run) -> Ticket:
    return Ticket(run_id=run.run_id, session=run.session, conversation=run.conversation)
