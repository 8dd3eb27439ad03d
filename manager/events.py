"""What happened, as frozen records, and the bus that tells it on.

Every event of a run carries its run id. Publishing is synchronous and never fails: the store,
live tool sets, progress messages and the page's stream all listen to the same events.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from .models import OwnerId, Run, RunId, RunState, SessionId, SubAgentConfig, Usage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The root: something happened in a session."""

    kind: ClassVar[str]
    """What happened, as a name that stays: the page and stored events go by it."""
    session: SessionId
    at: datetime
    retold: bool = False
    """Whether it happened in another process, which has kept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCreated(Event):
    """A new agent, or a new version under an old name."""

    kind: ClassVar[str] = "agent.created"

    config: SubAgentConfig
    replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged(Event):
    """An agent was protected, unprotected, edited or reset."""

    kind: ClassVar[str] = "agent.changed"

    config: SubAgentConfig
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRemoved(Event):
    """An agent is gone; the results of its runs stay."""

    kind: ClassVar[str] = "agent.removed"

    config: SubAgentConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged(Event):
    """A run was queued, started, is waiting, or ended: `run.state` says which."""

    kind: ClassVar[str] = "run.changed"

    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStarted(Event):
    """A run of the `task` tool began to work; told right after its `RunChanged`."""

    kind: ClassVar[str] = "task.start"

    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnded(Event):
    """A run of the `task` tool is over, skipped ones included; told after its `RunChanged`."""

    kind: ClassVar[str] = "task.end"

    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """A child's model answered."""

    kind: ClassVar[str] = "model.called"

    run_id: RunId
    step: int
    text: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    """A child's tool call began."""

    kind: ClassVar[str] = "tool.started"

    run_id: RunId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(Event):
    """A child's tool call ended."""

    kind: ClassVar[str] = "tool.finished"

    run_id: RunId
    name: str
    output: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """A turn of the main agent is over, and what it was handed is settled."""

    kind: ClassVar[str] = "turn.ended"

    turn_id: str
    owner: OwnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsHanded(Event):
    """Results were given to a taker."""

    kind: ClassVar[str] = "results.handed"

    delivery_ids: tuple[str, ...]
    taker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardChanged(Event):
    """A note was posted on the notice board, or notes were taken away."""

    kind: ClassVar[str] = "board.changed"


type RunEvent = ModelCalled | ToolStarted | ToolFinished
"""What a child does."""

type Subscriber = Callable[[Event], None]


class EventBus:
    """Tells every subscriber of every event, in the order of subscription."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Add a subscriber; the returned function takes it away again."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def publish(self, event: Event) -> None:
        """Tell all; a subscriber that fails is logged and hurts nobody."""
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:
                logger.exception("A subscriber failed on %s", type(event).__name__)

    def run_changed(self, run: Run, at: datetime, *, retold: bool = False) -> None:
        """Tell that a run has come to another state."""
        self.publish(RunChanged(session=run.session, at=at, run=run, retold=retold))
        if run.task is None:
            return
        if run.is_over:
            self.publish(TaskEnded(session=run.session, at=at, run=run, retold=retold))
        elif run.state is RunState.RUNNING and run.fence == 1 and not run.steps:
            # neither one that goes on after a question nor one that is taken up again
            self.publish(TaskStarted(session=run.session, at=at, run=run, retold=retold))
