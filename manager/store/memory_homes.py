"""Homes of sessions and orders of runs, of `MemoryStore`, in dictionaries."""

from typing import Protocol

from ..models import RunId, SessionId
from ..run_order import RunOrder
from .texts import cleaned


class _OfSession(Protocol):
    @property
    def session(self) -> SessionId: ...


class MemoryHomes:
    """Whose sessions are, and what is ordered of their runs."""

    def __init__(self) -> None:
        self._homes: dict[SessionId, str] = {}
        self._orders: list[RunOrder] = []

    def of(self, session: SessionId) -> str:
        """The home of a session, or ""."""
        return self._homes.get(session, "")

    def is_of(self, record: _OfSession, home: str | None) -> bool:
        """Whether a record is of a session of a home; None: of any."""
        return home is None or self.of(record.session) == home

    def move(self, session: SessionId, home: str) -> str:
        """Move a session to another home; the home before."""
        before = self.of(session)
        self._homes[session] = home
        return before

    def add_order(self, order: RunOrder) -> None:
        """Keep an order."""
        self._orders.append(cleaned(order))

    def take_orders(self, run_id: RunId) -> list[RunOrder]:
        """Take the orders of a run, oldest first."""
        taken = [order for order in self._orders if order.run_id == run_id]
        self._orders = [order for order in self._orders if order.run_id != run_id]
        return taken

    def forget_orders(self, run_ids: set[RunId]) -> int:
        """Delete the orders of runs; how many went."""
        kept = [order for order in self._orders if order.run_id not in run_ids]
        gone = len(self._orders) - len(kept)
        self._orders = kept
        return gone

    def forget(self, session: SessionId) -> None:
        """Delete what is kept of a session."""
        self._homes.pop(session, None)
        self._orders = [order for order in self._orders if order.session != session]
