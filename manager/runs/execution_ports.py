"""What the execution of a run works with: the session's side of it, the same for all its runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..events import EventBus
from ..host import AgentDriver, AgentRequest, Clock
from ..models import ConversationId, Delivery, Run
from ..store.protocol import RunWrite, Store
from .budget import DayTokens
from .line import Line
from .pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPorts:
    """What an execution works with; the same for all runs of a session."""

    driver: AgentDriver
    store: Store
    clock: Clock
    bus: EventBus
    line: Line
    pace: Pace
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
