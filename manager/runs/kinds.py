"""How the runs of a session are executed: the desk asks for a live run, and knows no more of it.

`HereExecutions` executes them in this process. Where several processes share the work,
`workers/followed_run.py` has one that is executed by any of them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ..host import ToolScope
from ..models import Run, RunState, StopReason
from ..settings import Settings
from .asking import Asking
from .execution import Execution
from .execution_ports import ExecutionPorts
from .graph import Gate
from .line import Ticket
from .state import advance


class LiveRun(Protocol):
    """One run that is not over, wherever it is executed."""

    asking: Asking
    """Its question, while it waits for the answer."""
    done: asyncio.Future[Run]
    """Done once the run is over; cancelled when it ends elsewhere or after a shutdown."""

    @property
    def run(self) -> Run:
        """The run as it stands."""
        ...

    def hand_over(self) -> None:
        """Make it a background run: nobody waits for it any more."""
        ...

    def stop(self, reason: StopReason) -> None:
        """Stop it; the first reason counts, and an end that is being written stands."""
        ...

    def steer(self, text: str) -> bool:
        """Have its child told something before its next model call; False: it is too late."""
        ...

    async def ask(self, question: str) -> str | None:
        """Let its child, which is at work here, wait for an answer; None when there is none."""
        ...

    def let_go(self) -> None:
        """Its task is over, even if it never began: nobody may wait for it any more."""
        ...

    async def execute(self) -> None:
        """Carry the run, which is stored, to its end; its whole task."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run stands in its session, and what it works with."""

    ticket: Ticket
    ports: ExecutionPorts
    settings: Settings
    news: Callable[[], Awaitable[tuple[str, ...]]]
    """What its child has not been told yet."""
    gate: Gate | None
    """Where it waits for its predecessors; None: it has none."""


class Shareable(Protocol):
    """What is to be known of a session's runs before another process may execute them."""

    def scope(self, run: Run) -> ToolScope | None:
        """The tools that a run may have; None: what it needs is not there."""
        ...

    async def mark(self, run: Run) -> None:
        """Note here what the run does to its agent, wherever it is executed."""
        ...


class Executions(Protocol):
    """Makes the live runs of a session, of one kind all of them."""

    def new(self, run: Run, place: Place) -> LiveRun:
        """A run that was just asked for, with a place at once or in the line."""
        ...

    def taken_up(self, run: Run, place: Place) -> LiveRun:
        """A run that a reload of the plugin or a restart of the bot cut off."""
        ...


class HereExecutions:
    """Executes the runs in this process."""

    def __init__(self, executor: str) -> None:
        """Set it up; `executor` names this process."""
        self._executor = executor

    def new(self, run: Run, place: Place) -> Execution:
        """See `Executions.new`."""
        ports, ticket = place.ports, place.ticket
        if not run.depends_on:
            ports.line.join(ticket)
        if ticket.ready.done():
            at = ports.clock.now()
            run = advance(run, RunState.RUNNING, executor=self._executor, started_at=at, fence=1)
        else:
            run = replace(run, executor=self._executor)
        return execution_of(run, place)

    def taken_up(self, run: Run, place: Place) -> Execution:
        """See `Executions.taken_up`."""
        ports, ticket = place.ports, place.ticket
        is_ours = run.executor == self._executor
        if run.state is RunState.RUNNING:
            run = advance(run, RunState.QUEUED)
        run = replace(run, executor=self._executor)
        if run.state is RunState.WAITING:
            ports.line.hold(ticket)
        elif not run.depends_on:
            ports.line.join(ticket)
        execution = execution_of(run, place)
        execution.has_all_its_time = not is_ours
        return execution


def execution_of(run: Run, place: Place) -> Execution:
    """The execution of a run in this process."""
    return Execution(
        run, place.ticket, place.ports, place.settings, news=place.news, gate=place.gate
    )
