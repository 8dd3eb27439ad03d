"""The run desk: all runs of one session, from their start to the handing over of results."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ..artifacts import keep_artifacts
from ..errors import RunNotFound, ShuttingDown
from ..events import ResultsHanded, RunChanged
from ..host import AgentRequest
from ..models import (
    Delivery,
    OwnerId,
    Run,
    RunId,
    RunState,
    SessionId,
    StopReason,
    Turn,
    TurnEnd,
)
from ..names import name_key
from ..services import Services
from ..settings import Settings
from ..store.rows import DamagedRow
from .budget import DayTokens
from .execution import Execution, ExecutionPorts
from .line import Ticket
from .missed import MissedEnds
from .outbox import Outbox
from .state import advance
from .supervisor import Supervisor

logger = logging.getLogger(__name__)


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
        self._children = children
        self.outbox = Outbox(session, services.store)
        self._missed = MissedEnds(session, services, supervisor, self.outbox)
        self._ports = ExecutionPorts(
            driver=services.host,
            store=services.store,
            clock=services.clock,
            bus=services.bus,
            line=supervisor.line,
            day=day,
            prepare=children.request,
            delivery=self._delivery,
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
        if self._supervisor.closing:
            raise ShuttingDown
        ticket = Ticket(run_id=run.run_id, session=run.session, conversation=run.conversation)
        run = replace(run, executor=self._services.executor)
        self._supervisor.line.join(ticket)
        if ticket.ready.done():
            at = self._services.clock.now()
            run = advance(run, RunState.RUNNING, started_at=at, fence=1)
        execution = self._execute(run, ticket, settings, new=True)
        try:
            return await execution.accepted
        except asyncio.CancelledError:
            execution.stop(StopReason.TURN)
            raise
        except Exception:
            self._live.pop(run.run_id, None)
            raise

    def take_up(self, run: Run, settings: Settings) -> None:
        """Go on with a run of this process that a reload of the plugin cut off."""
        ticket = Ticket(run_id=run.run_id, session=run.session, conversation=run.conversation)
        if run.state is not RunState.QUEUED:
            run = advance(run, RunState.QUEUED)
        run = replace(run, background=True, executor=self._services.executor)
        self._supervisor.line.join(ticket)
        self._execute(run, ticket, settings, new=False).accepted.set_result(run)
        self._services.bus.publish(
            RunChanged(session=self._session, at=self._services.clock.now(), run=run)
        )

    def _execute(self, run: Run, ticket: Ticket, settings: Settings, *, new: bool) -> Execution:
        execution = Execution(
            run,
            ticket,
            self._ports,
            settings,
            news=lambda: self._children.news(run.run_id),
            max_steps=settings.max_steps,
        )
        task = self._supervisor.start(execution.execute(new=new), name=f"run {run.run_id}")
        self._live[run.run_id] = execution

        def let_go(_: object) -> None:
            self._live.pop(run.run_id, None)
            self._children.forget(run.run_id)
            execution.let_go()

        task.add_done_callback(let_go)
        return execution

    def _delivery(self, run: Run) -> Delivery:
        return Delivery(
            delivery_id=run.run_id,
            session=self._session,
            owner=run.owner,
            created_at=self._services.clock.now(),
        )

    def _over(self, run: Run) -> None:
        self._ended[run.run_id] = run
        self._live.pop(run.run_id, None)
        self.outbox.add(self._delivery(run))

    async def write_missed(self) -> None:
        """Write the ends that the store would not take when they came."""
        await self._missed.write()

    def is_idle(self) -> bool:
        """Whether nothing is kept here that is not in the store."""
        return not self._live and not self._missed and self.outbox.is_stored()

    def live(self, agent: str | None = None) -> list[Run]:
        """Unfinished runs, oldest first; `agent` is matched without regard to case."""
        runs = [execution.run for execution in self._live.values()]
        if agent is None:
            return runs
        key = name_key(agent)
        return [run for run in runs if run.agent is not None and name_key(run.agent) == key]

    def position(self, run_id: RunId) -> int | None:
        """The run's place in the line of the whole process; None when it is not waiting."""
        return self._supervisor.line.position(run_id)

    def free_places(self) -> int:
        """How many more runs of this session could start now."""
        return self._supervisor.line.free_places(self._session)

    async def find(self, run_id: str) -> Run:
        """One run of this session.

        Raises:
            RunNotFound: There is none of that id here.
        """
        key = RunId(run_id)
        if key in self._live:
            return self._live[key].run
        run = self._ended.get(key) or await self._services.store.get_run(self._session, key)
        if run is None:
            raise RunNotFound(run_id, [*self._live, *self._ended])
        return run

    async def of_agent(self, agent: str) -> list[Run]:
        """The newest runs of an agent, newest first, as they stand."""
        stored = await self._services.store.list_runs(self._session, agent=agent)
        return [await self.find(run.run_id) for run in stored]

    async def recent(self, limit: int) -> list[Run]:
        """The newest runs of the session, newest first, live ones as they stand."""
        stored = await self._services.store.list_runs(self._session, limit=limit)
        return [self._live[run.run_id].run if run.run_id in self._live else run for run in stored]

    async def wait(
        self, run_ids: Sequence[RunId], *, wait_for_all: bool, timeout_seconds: float
    ) -> WaitOutcome:
        """Wait until all or one of these runs are over, or the time is up.

        Raises:
            RunNotFound: One of them is not of this session.
        """
        live = {run_id: self._live[run_id] for run_id in run_ids if run_id in self._live}
        seen = {run_id: await self.find(run_id) for run_id in run_ids if run_id not in live}
        if live and (wait_for_all or len(live) == len(run_ids)):
            futures = [execution.done for execution in live.values()]
            await self._until(futures, wait_for_all, timeout_seconds)
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

    async def _until(
        self, futures: Collection[asyncio.Future[Run]], wait_for_all: bool, seconds: float
    ) -> None:
        """Return when the futures are done, the time is up, or the plugin closes."""
        clock = self._services.clock
        over = asyncio.get_running_loop().create_future()

        def end() -> None:
            if not over.done():
                over.set_result(None)

        def one_done(_: object) -> None:
            if not wait_for_all or all(future.done() for future in futures):
                end()

        cancel_timer = clock.call_at(clock.monotonic() + seconds, end)
        self._supervisor.when_closing(end)
        for future in futures:
            future.add_done_callback(one_done)
        try:
            await over
        finally:
            cancel_timer()
            self._supervisor.forget(end)
            for future in futures:
                future.remove_done_callback(one_done)

    def stop(self, run_id: RunId, reason: StopReason) -> None:
        """Stop a run; one that is over or ending stays as it is."""
        if execution := self._live.get(run_id):
            execution.stop(reason)

    async def stopped(self, run_ids: Collection[RunId], reason: StopReason) -> list[Run]:
        """Stop runs and wait until they are written."""
        executions = [self._live[i] for i in run_ids if i in self._live]
        for execution in executions:
            execution.stop(reason)
        if executions:
            await asyncio.wait([execution.done for execution in executions])
        return [execution.run for execution in executions]

    def hand_over(self, run_id: RunId) -> None:
        """Make a foreground run a background one."""
        if execution := self._live.get(run_id):
            execution.hand_over()

    def hand(self, runs: Collection[Run], turn: Turn, *, passing: bool) -> list[Run]:
        """Give finished results to a turn; those that another has are left out."""
        ids = self.outbox.hand([run.run_id for run in runs], taker=turn.turn_id, passing=passing)
        if ids:
            self._services.bus.publish(
                ResultsHanded(
                    session=self._session,
                    at=self._services.clock.now(),
                    delivery_ids=ids,
                    taker=turn.turn_id,
                )
            )
        return [run for run in runs if run.run_id in ids]

    async def pending(self, owner: OwnerId, most: int) -> list[Run]:
        """Finished runs of this owner whose results nobody has, the oldest ones."""
        found = [await self._of_result(run_id) for run_id in self.outbox.pending(owner)[:most]]
        return [run for run in found if run is not None]

    async def _of_result(self, run_id: str) -> Run | None:
        """The run that a result came from; None when its row is damaged: the others go on."""
        try:
            return await self.find(run_id)
        except DamagedRow as error:
            logger.warning("The result of task %s is set aside: %s", run_id, error)
            return None

    async def settle(self, turn: Turn, end: TurnEnd) -> None:
        """Close what a turn was handed, or put it back into the outbox."""
        await self.write_missed()
        for run_id in await self.outbox.settle(turn.turn_id, end):
            if run_id not in self._missed:
                self._ended.pop(RunId(run_id), None)
        self._missed.keep_trying()

    async def unread_agents(self) -> set[str]:
        """Name keys of agents with live runs or results still on their way."""
        runs = self.live()
        for delivery_id in self.outbox.ids():
            try:
                if (run := await self._of_result(delivery_id)) is not None:
                    runs.append(run)
            except RunNotFound:
                # its run was deleted by retention: nothing is left to be read
                await self.outbox.close([delivery_id])
        return {name_key(run.agent) for run in runs if run.agent is not None}
