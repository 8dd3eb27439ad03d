"""What the whole core works with, handed over once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .child_desk import ChildDesk
from .events import BoardChanged, EventBus
from .host import ChildTool, Clock, Host
from .messenger import Messenger, Silent
from .models import SessionId
from .settings import Settings
from .store.protocol import Store
from .workers.ports import Sharing, Signal, SignalKind


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
    is_guest: bool = False
    """Whether they are those of one run whose chat belongs to another process."""
    sharing: Sharing | None = None
    """Set where several processes share the store: any of them may execute a run of this one."""

    @property
    def home(self) -> str | None:
        """Whose sessions are looked after here; None: all."""
        return self.sharing.home if self.sharing is not None else None

    async def board_changed(self, session: SessionId) -> None:
        """Tell of a change of a session's notice board, here and elsewhere."""
        self.bus.publish(BoardChanged(session=session, at=self.clock.now()))
        await self.tell_others("board", session)

    async def tell_others(self, kind: SignalKind, subject: str) -> None:
        """Tell the processes that share the store of something new in it, if there are any."""
        if self.sharing is not None:
            await self.sharing.signals.tell(Signal(kind=kind, subject=subject))
