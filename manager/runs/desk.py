"""The run desk: all runs of one session, from their start to the handing over of results."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ..artifacts import keep_artifacts
from ..errors import RunNotFound, ShuttingDown
from ..fork_context import ForkContext
from ..host import AgentRequest
from ..models import (
    ConversationId,
    GroupId,
    Run,
    RunId,
    SessionId,
    StopReason,
)
from ..names import name_key
from ..services import Services
from ..settings import Settings
from .budget import DayTokens
from .execution_ports import ExecutionPorts
from .graph import Gate
from .kinds import Executions, LiveRun, Place, Shareable
from .line import Ticket
from .missed import MissedEnds
from .outbox import Outbox
from .questions import Questions
from .results import ResultDesk
from .shielding import carry_through
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


class Children(Shareable, Protocol):
    """What the desk needs to know of the children that it lets run."""

    async def request(self, run: Run) -> AgentRequest:
        """All that a run's child needs, looked up when the run starts."""
        ...

    async def news(self, run_id: RunId) -> tuple[str, ...]:
        """What a running child has not been told yet."""
        ...

    def lacks(self, run: Run) -> list[str]:
        """What a run needs that is not here but may be at the home of its chat, by name."""
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
        executions: Callable[[Shareable], Executions],
    ) -> None:
        self._session = session
        self._services = services
        self._supervisor = supervisor
        self._executions = executions(children)
        self._live: dict[RunId, LiveRun] = {}
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._ended: dict[RunId, Run] = {}
        self._left: dict[RunId, Run] = {}
        """Written while the plugin is closing: the next start takes them up."""
        self._children = children
        self.questions = Questions(self._live)
        """What the runs ask."""
        outbox = Outbox(session, services.store, executor=services.executor)
        self._missed = MissedEnds(session, services, supervisor, outbox)
        self.results = ResultDesk(session, services, outbox, self._missed, runs=self)
        """The way of results to turns."""
        self._ports = self._execution_ports(day)

    def _execution_ports(self, day: DayTokens) -> ExecutionPorts:
        services, supervisor = self._services, self._supervisor
        return ExecutionPorts(
            driver=services.host,
            store=services.store,
            clock=services.clock,
            bus=services.bus,
            line=supervisor.line,
            pace=supervisor.pace,
            day=day,
            prepare=self._children.request,
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
        (accepted,) = await self.start_group([run], settings, fork=None)
        return accepted

    async def start_group(
        self, runs: Sequence[Run], settings: Settings, *, fork: ForkContext | None
    ) -> list[Run]:
        """Accept all runs of a group, or none; each starts once its predecessors are completed.

        From this call on all of them are live, so that whoever stops or counts runs finds those
        too that are just being written.

        Args:
            runs: Those that others depend on may stand anywhere.
            settings: What they are limited by.
            fork: What forks among them begin with.

        Raises:
            ShuttingDown: Nothing new starts.
            StoreUnavailable: They could not be written; nothing was started.
        """
        if self._supervisor.closing:
            raise ShuttingDown
        executions = [self._new(run, settings) for run in runs]
        try:
            cancelled = await self._write(executions, fork)
        except BaseException:
            for execution in executions:
                self._let_go(execution)
            raise
        for execution in executions:
            if cancelled:
                execution.stop(StopReason.TURN)
            self._begin(execution)
        if cancelled:
            raise asyncio.CancelledError
        return [execution.run for execution in executions]

    async def _write(self, executions: Sequence[LiveRun], fork: ForkContext | None) -> bool:
        """Write new runs; whether the caller was cancelled meanwhile."""
        runs = [execution.run for execution in executions]
        writing = asyncio.ensure_future(self._services.store.add_runs(runs, fork=fork))
        # the store is not closed under it, whatever becomes of the caller
        self._supervisor.start(_ended(writing), name="writing new runs")
        _, cancelled = await carry_through(_ended(writing))
        if error := writing.exception():
            if cancelled:
                raise asyncio.CancelledError from error
            raise error
        return cancelled

    def _new(self, run: Run, settings: Settings) -> LiveRun:
        """A new run with its place: at work, in the line, or waiting for its predecessors."""
        live = self._live[run.run_id] = self._executions.new(run, self._place(run, settings))
        return live

    def take_up(self, run: Run, settings: Settings) -> None:
        """Go on with a run that a reload of the plugin or a restart of the bot cut off."""
        self._begin(self.admit(replace(run, background=True), settings))

    def admit(self, run: Run, settings: Settings) -> LiveRun:
        """Let in a run that is stored; the caller has it executed, and releases it then."""
        live = self._live[run.run_id] = self._executions.taken_up(run, self._place(run, settings))
        return live

    def _place(self, run: Run, settings: Settings) -> Place:
        return Place(
            ticket=_ticket(run),
            ports=self._ports,
            settings=settings,
            news=lambda: self._children.news(run.run_id),
            gate=self._gate(run) if run.depends_on else None,
        )

    def _begin(self, execution: LiveRun) -> None:
        """Let a run that is stored go on."""
        run = execution.run
        if self._supervisor.closing:
            self._left[run.run_id] = run
            self._let_go(execution)
        else:
            task = self._supervisor.start(execution.execute(), name=f"run {run.run_id}")
            self._tasks[run.run_id] = task
            task.add_done_callback(lambda _: self._let_go(execution))
        self._services.bus.run_changed(run, self._services.clock.now())

    def lacks(self, run: Run) -> list[str]:
        """What a run needs that this process does not have, by name."""
        return self._children.lacks(run)

    def release(self, live: LiveRun) -> None:
        """The task of a run that was let in is done."""
        self._let_go(live)

    def let_all_go(self) -> None:
        """The session is another process's: what is at work here is left to it."""
        for task in tuple(self._tasks.values()):
            task.cancel()

    async def caught_up(self, conversation: ConversationId) -> None:
        """Return once the store has every end of a conversation."""
        await self._missed.caught_up(conversation)

    def _let_go(self, execution: LiveRun) -> None:
        run_id = execution.run.run_id
        self._live.pop(run_id, None)
        self._tasks.pop(run_id, None)
        self._children.forget(run_id)
        execution.let_go()

    def _gate(self, run: Run) -> Gate:
        def end_of(run_id: RunId) -> asyncio.Future[Run] | None:
            execution = self._live.get(run_id)
            return execution.done if execution is not None else None

        return Gate(run, clock=self._services.clock, find=self.find, end_of=end_of)

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
        found = {run.run_id: self._in_memory(run.run_id) or run for run in stored}
        # those too that are just being written
        found |= {run.run_id: run for run in self.live() if run.group_id == group_id}
        return sorted(found.values(), key=lambda run: run.task.position if run.task else 0)

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

    async def newest(self, most: int) -> list[Run]:
        """The newest runs of the session, newest first, as they stand."""
        stored = await self._services.store.list_runs(self._session, limit=most)
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


async def _ended(writing: asyncio.Future[None]) -> None:
    await carry_through(asyncio.wait([writing]))
