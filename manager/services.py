"""What the whole core works with, handed over once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .child_desk import ChildDesk
from .events import EventBus
from .host import ChildTool, Clock, Host
from .messenger import Messenger, Silent
from .settings import Settings
from .store.protocol import Store


def no_tools(desk: ChildDesk) -> tuple[ChildTool, ...]:
    """A child without tools of the core's own."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The core's surroundings."""

    host: Host
    store: Store
    clock: Clock
    bus: EventBus
    settings: Callable[[], Settings]
    """The settings of now; a run keeps those it began with."""
    executor: str
    """Names this process: the same after a reload of the plugin, another after a restart."""
    files: Path
    """Where sessions have their folders."""
    messenger: Messenger = field(default_factory=Silent)
    """Reaches the chat when no turn takes a result or a question."""
    child_tools: Callable[[ChildDesk], tuple[ChildTool, ...]] = no_tools
    """The core's own tools of a child; their texts are not the core's."""
