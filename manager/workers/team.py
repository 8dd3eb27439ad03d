"""The team: this process alone, or as one of several that share a store.

`Sessions` has one of the two and asks it what differs: how runs are executed, whose sessions are
looked after here, and what the others have to say. The other one is in `member.py`.
"""

from typing import Protocol

from ..models import Run, SessionId
from ..runs.kinds import Executions, HereExecutions, Shareable
from ..runs.line import Caps
from ..services import Services
from ..settings import Settings


class Team(Protocol):
    """What differs between a process alone and one of several."""

    @property
    def home(self) -> str | None:
        """Whose sessions are looked after here; None: all."""
        ...

    def caps(self, settings: Settings) -> Caps:
        """How many runs of this process's sessions may be at work at once."""
        ...

    def executions(self, runs: Shareable) -> Executions:
        """How these runs, those of one session, are executed."""
        ...

    def goes_on(self, run: Run) -> bool:
        """Whether a run that this process's end cut off may be at work elsewhere."""
        ...

    async def begin(self) -> None:
        """The store is open: see which sessions are looked after here."""
        ...

    async def start(self) -> None:
        """What was cut off is taken up: work for the others too."""
        ...

    async def move_in(self, session: SessionId) -> bool:
        """A session is used here; whether another process had it until now."""
        ...

    async def is_ours(self, session: SessionId) -> bool:
        """Whether a session is looked after here."""
        ...

    async def close(self) -> None:
        """Leave the others; what was brought here goes to them."""
        ...


class Alone:
    """The one process of its store."""

    home = None

    def __init__(self, services: Services) -> None:
        self._services = services

    def caps(self, settings: Settings) -> Caps:
        """See `Team.caps`."""
        return Caps(
            per_session=settings.max_parallel_per_session, total=settings.max_parallel_total
        )

    def executions(self, runs: Shareable) -> Executions:
        """See `Team.executions`."""
        return HereExecutions(self._services.executor)

    def goes_on(self, run: Run) -> bool:
        """See `Team.goes_on`."""
        return False

    async def begin(self) -> None:
        """See `Team.begin`."""

    async def start(self) -> None:
        """See `Team.start`."""

    async def move_in(self, session: SessionId) -> bool:
        """See `Team.move_in`."""
        return False

    async def is_ours(self, session: SessionId) -> bool:
        """See `Team.is_ours`."""
        return True

    async def close(self) -> None:
        """See `Team.close`."""
