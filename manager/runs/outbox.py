"""The outbox: results of a session on their way, each handed over exactly once.

Pending -> handed (a tool reply or the head of a turn carries it) -> acknowledged (that turn came
to its end). A turn that is cut off puts what it was handed back. One process owns a session, so
what stands in memory decides. Only ends are written: a row that was handed but not acknowledged is
pending again after a restart, so in the store it never stopped being so.
"""

import logging
from collections.abc import Collection
from dataclasses import replace

from ..errors import StoreError
from ..models import Delivery, DeliveryState, OwnerId, SessionId
from ..store.protocol import Store

logger = logging.getLogger(__name__)

_OPEN = (DeliveryState.PENDING, DeliveryState.CLAIMED, DeliveryState.HANDED)


class Outbox:
    """The open deliveries of one session."""

    def __init__(self, session: SessionId, store: Store) -> None:
        self._session = session
        self._store = store
        self._open: dict[str, Delivery] = {}
        self._ended: dict[str, DeliveryState] = {}
        """Ends that are not in the store yet."""

    async def load(self) -> None:
        """Read the open deliveries from the store."""
        rows = await self._store.load_deliveries(self._session, states=_OPEN)
        self._open = {row.delivery_id: row for row in rows}

    def add(self, delivery: Delivery) -> None:
        """A new result is there; its row was written with its run's end."""
        self._open[delivery.delivery_id] = delivery

    def pending(self, owner: OwnerId) -> tuple[str, ...]:
        """Ids of this owner's results that nobody has, oldest first."""
        return tuple(
            row.delivery_id
            for row in self._open.values()
            if row.owner == owner and row.state is DeliveryState.PENDING
        )

    def ids(self) -> tuple[str, ...]:
        """Ids of everything that is still on its way, oldest first."""
        return tuple(self._open)

    def unread(self, delivery_id: str) -> Delivery | None:
        """The row that the store is to hold for a result; None once it was acknowledged."""
        row = self._open.get(delivery_id)
        return row and replace(row, state=DeliveryState.PENDING, taker="")

    def hand(self, delivery_ids: Collection[str], *, taker: str) -> tuple[str, ...]:
        """Give those that are pending to a taker.

        Returns:
            The ids that the taker has now; the others were someone else's or are gone.
        """
        mine = [
            delivery_id
            for delivery_id in delivery_ids
            if (row := self._open.get(delivery_id)) and row.state is DeliveryState.PENDING
        ]
        for delivery_id in mine:
            row = self._open[delivery_id]
            self._open[delivery_id] = replace(row, state=DeliveryState.HANDED, taker=taker)
        return tuple(mine)

    async def settle(self, taker: str, *, delivered: bool) -> tuple[str, ...]:
        """Close what a taker was handed, or put it back.

        Returns:
            The ids that were settled.
        """
        held = [row.delivery_id for row in self._open.values() if row.taker == taker]
        if delivered:
            await self._end(held, DeliveryState.ACKNOWLEDGED)
        for delivery_id in held if not delivered else ():
            row = self._open[delivery_id]
            self._open[delivery_id] = replace(row, state=DeliveryState.PENDING, taker="")
        return tuple(held)

    async def close(self, delivery_ids: Collection[str]) -> None:
        """Nobody is to get these any more."""
        known = [delivery_id for delivery_id in delivery_ids if delivery_id in self._open]
        await self._end(known, DeliveryState.CLOSED)

    def is_stored(self) -> bool:
        """Whether the store knows of every end."""
        return not self._ended

    async def _end(self, ids: list[str], state: DeliveryState) -> None:
        # first in memory, so that no second taker gets it while the store writes
        for delivery_id in ids:
            del self._open[delivery_id]
            self._ended[delivery_id] = state
        await self.write_ends()

    async def write_ends(self) -> None:
        """Write the ends that are not in the store yet; those it will not take stay for later."""
        for state in sorted(set(self._ended.values())):
            ids = [each for each, ended in self._ended.items() if ended is state]
            try:
                await self._store.update_deliveries(ids, expected=_OPEN, state=state)
            except StoreError:
                logger.exception("The delivery of %d results could not be stored yet", len(ids))
                return
            for delivery_id in ids:
                self._ended.pop(delivery_id, None)
