"""What happened, as frozen records, and the bus that tells it on.

Every event of a run carries its run id. Publishing is synchronous and never fails: the store,
live tool sets, progress messages and the page's stream all listen to the same events.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from .models import Run, RunId, SessionId, SubAgentConfig, Usage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The root: something happened in a session."""

    session: SessionId
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCreated(Event):
    """A new agent, or a new version under an old name."""

    config: SubAgentConfig
    replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged(Event):
    """An agent was protected, unprotected or reset."""

    config: SubAgentConfig
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRemoved(Event):
    """An agent is gone; the results of its runs stay."""

    config: SubAgentConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged(Event):
    """A run was queued, started, is waiting, or ended: `run.state` says which."""

    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """A child's model answered."""

    run_id: RunId
    step: int
    text: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    """A child's tool call began."""

    run_id: RunId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(Event):
    """A child's tool call ended."""

    run_id: RunId
    name: str
    output: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsHanded(Event):
    """Results were given to a taker."""

    delivery_ids: tuple[str, ...]
    taker: str


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
