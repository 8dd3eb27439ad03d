"""The third part of the Store: what several processes that share it need to know of each other.

The rules of `protocol.py` hold here too. A home is a process that owns chats, by the name that it
keeps over restarts.
"""

from datetime import datetime
from typing import Protocol

from ..models import Run, RunId, SessionId
from ..run_order import RunOrder


class StoreWorkers(Protocol):
    """Whose a chat is, and what is ordered of runs."""

    async def home_of(self, session: SessionId) -> str:
        """The home of a session; "" when it has none, or nothing is kept of it."""
        ...

    async def move_home(self, session: SessionId, home: str, at: datetime) -> str:
        """Let a session be another home's from now on; its record is made where there is none.

        Args:
            session: The session.
            home: Whose it is.
            at: When a new record is made.

        Returns:
            The home before, as `home_of` gives it.
        """
        ...

    async def adopt_homeless(self, home: str) -> int:
        """Let all sessions without a home be this one's; how many there were."""
        ...

    async def find_run(self, run_id: RunId) -> Run | None:
        """One run, whatever its session."""
        ...

    async def add_order(self, order: RunOrder) -> None:
        """Keep an order until it is taken."""
        ...

    async def take_orders(self, run_id: RunId) -> list[RunOrder]:
        """Take the orders of a run out, oldest first: nobody else gets them."""
        ...
