"""What the whole core works with, handed over once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .events import EventBus
from .host import Clock, Host
from .settings import Settings
from .store.protocol import Store


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
