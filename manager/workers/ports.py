"""What sharing the work among several processes needs from outside, as Protocols.

One process needs none of it: then every run is executed where it was asked for. An engine behind
these ports brings ids of runs to processes and says who works on them; what a run has done is in
the store's journal alone, so that bringing an id twice does no harm.

Source: docs/decisions/0007-many-workers.md
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..models import RunId
from ..settings import StaticAgentSettings

type SignalKind = Literal["run", "order", "board", "home"]
"""`run`: a run has changed. `order`: something was ordered of a run. `board`: a session's notes.
`home`: a session is another process's now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Word from another process that something in the store is new; it carries nothing itself."""

    kind: SignalKind
    subject: str
    """A run's id, or a session's for `board` and `home`."""


class Signals(Protocol):
    """Tells the processes that share a store of what is new, all of them, the own one included.

    A signal may be lost when the connection or its sender breaks: `missed` is called once the
    connection is there again, and whoever follows something looks again.
    """

    async def tell(self, signal: Signal) -> None:
        """Tell all processes; a failure is logged and never raised."""
        ...

    def subscribe(
        self, heard: Callable[[Signal], None], missed: Callable[[], None]
    ) -> Callable[[], None]:
        """Hear every signal; the returned function ends it."""
        ...


class Workforce(Protocol):
    """Brings ids of runs to the processes that execute them."""

    async def start(self, execute: Callable[[RunId], Awaitable[None]]) -> None:
        """Begin to work: `execute` returns when this process is done with the run it is given.

        Its being cancelled means that this process stops working: then it writes that nobody has
        the run any more and raises `CancelledError`. It raises nothing else; called with a run that
        is over, is another home's alone, or is at work here already, it returns at once.
        """
        ...

    async def close(self) -> None:
        """Stop working; what this process has in hand is brought to others."""
        ...

    async def send(self, run_id: RunId, *, only: str = "") -> None:
        """Have a process execute a run; one that is on its way, or at work, is not sent twice.

        The process that has a run may send it on with `only` before its `execute` returns.

        Args:
            run_id: A run that is stored.
            only: The home that must execute it; "" is any.

        Raises:
            StoreUnavailable: It could not be written; nothing was sent.
        """
        ...

    def waits(self, run_id: RunId, waiting: bool) -> None:
        """A run that this process has waits for an answer, and its place is free; or it goes on.

        Nothing happens for any other run.
        """
        ...

    async def lost(self, run_ids: Collection[RunId]) -> list[RunId]:
        """Those of these that nobody alive works on and that wait for nobody: to be sent again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """What one process shares its work with; `Services.sharing` is None where it does not."""

    home: str
    """The process's name, the same after a restart: the chats that come in here are its own."""
    signals: Signals
    workforce: Workforce
    static_agents: Callable[[], Sequence[StaticAgentSettings]] = tuple
    """The static agents of now, for sessions that are loaded for a run of another process."""
