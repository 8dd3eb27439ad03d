"""The outbox: results of a session on their way, each handed over exactly once.

Pending -> claimed (a wake-up turn or a message is on its way with it) -> handed (a tool reply or
the head of a turn holds it) -> acknowledged (the model or the user has it for good). Of what a turn
was handed two things make that so: an answer of the turn, or, in a turn that was cut off, a model
request that carried a text which the host keeps. All else goes back when its turn ends.

One process owns a session, so what stands in memory decides. Only ends are written: a row that was
handed but not acknowledged is pending again after a restart, so in the store it never stopped being
so. Claims are written: they count how often a result was brought in vain. So is what a turn has
read that goes on when we leave: it is handed to this process, and pending again if that ends first.

Source: docs/decisions/0004-runs.md
"""

import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from ..errors import StoreError
from ..models import ON_THE_WAY, Delivery, DeliveryState, OwnerId, SessionId, TurnEnd
from ..store.protocol import Store

logger = logging.getLogger(__name__)

_FREE = (DeliveryState.PENDING, DeliveryState.CLAIMED)
"""Any turn of the owner may take these: a claim only says who is on its way to bring them."""


class Outbox:
    """The open deliveries of one session."""

    def __init__(self, session: SessionId, store: Store, *, executor: str) -> None:
        """Set it up; `executor` names this process."""
        self._session = session
        self._store = store
        self._executor = executor
        self._open: dict[str, Delivery] = {}
        self._ended: dict[str, DeliveryState] = {}
        """Ends that are not in the store yet."""
        self._carried: set[str] = set()
        """Handed, and a model request that held them went out."""
        self._passing: set[str] = set()
        """Handed in a text that the host drops after the turn."""

    async def load(self) -> None:
        """Read the open deliveries from the store."""
        rows = await self._store.load_deliveries(self._session, states=ON_THE_WAY)
        self._open = {row.delivery_id: row for row in rows}

    def add(self, delivery: Delivery) -> None:
        """A new result is there; its row was written with its run's end."""
        self._open[delivery.delivery_id] = delivery

    def pending(self, owner: OwnerId) -> tuple[Delivery, ...]:
        """This owner's results that nobody has, oldest first."""
        return tuple(
            row for row in self._open.values() if row.owner == owner and row.state in _FREE
        )

    def open(self) -> tuple[Delivery, ...]:
        """Everything that is still on its way, oldest first."""
        return tuple(self._open.values())

    def owners(self) -> tuple[OwnerId, ...]:
        """Owners of results that nobody has, without doubles."""
        return tuple(dict.fromkeys(row.owner for row in self._open.values() if row.state in _FREE))

    async def claim(self, ids: Collection[str], *, taker: str, until: datetime) -> None:
        """Note who is on its way with these results, and count an attempt for each.

        Args:
            ids: Results that nobody has; others are left as they are.
            taker: Who brings them.
            until: When the claim ends by itself.

        Raises:
            StoreError: It could not be written; nothing was claimed.
        """
        mine = [each for each in ids if (row := self._open.get(each)) and row.state in _FREE]
        await self._store.update_deliveries(
            mine, expected=_FREE, state=DeliveryState.CLAIMED, taker=taker, lease_until=until
        )
        for each in mine:
            row = self._open.get(each)
            if row is not None and row.state in _FREE:
                self._open[each] = replace(
                    row, state=DeliveryState.CLAIMED, attempts=row.attempts + 1
                )

    def is_holding(self, taker: str) -> bool:
        """Whether a taker was handed results that are not settled."""
        return any(row.taker == taker for row in self._open.values())

    def ids(self) -> tuple[str, ...]:
        """Ids of everything that is still on its way, oldest first."""
        return tuple(self._open)

    def unread(self, delivery_id: str) -> Delivery | None:
        """The row that the store is to hold for a result; None once it was acknowledged."""
        row = self._open.get(delivery_id)
        return row and replace(row, state=DeliveryState.PENDING, taker="")

    def hand(
        self, delivery_ids: Collection[str], *, taker: str, passing: bool = False
    ) -> tuple[str, ...]:
        """Give those that are pending to a taker.

        Args:
            delivery_ids: What is to be handed over.
            taker: Who gets it.
            passing: The host drops the text after the taker's turn.

        Returns:
            The ids that the taker has now; the others were someone else's or are gone.
        """
        self._take_up(delivery_ids, taker=taker, passing=passing)
        mine = [
            delivery_id
            for delivery_id in delivery_ids
            if (row := self._open.get(delivery_id)) and row.state in _FREE
        ]
        for delivery_id in mine:
            row = self._open[delivery_id]
            # a claim has counted this attempt already
            attempts = row.attempts + (row.state is DeliveryState.PENDING)
            self._open[delivery_id] = replace(
                row, state=DeliveryState.HANDED, taker=taker, attempts=attempts
            )
            if passing:
                self._passing.add(delivery_id)
        return tuple(mine)

    def _take_up(self, delivery_ids: Collection[str], *, taker: str, passing: bool) -> None:
        """Note what a taker that knows a result in passing gets once more, in a text that stays."""
        for delivery_id in delivery_ids if not passing else ():
            row = self._open.get(delivery_id)
            if row is not None and row.taker == taker and delivery_id in self._passing:
                self._passing.discard(delivery_id)
                self._carried.discard(delivery_id)

    def carry(self, taker: str) -> None:
        """A model request goes out that holds all that the taker was handed so far."""
        self._carried.update(row.delivery_id for row in self._open.values() if row.taker == taker)

    async def settle(self, taker: str, end: TurnEnd) -> tuple[str, ...]:
        """Acknowledge what a taker has for good, and put the rest back.

        Returns:
            The ids that were acknowledged.
        """
        held = [row for row in self._open.values() if row.taker == taker]
        done: list[str] = []
        for row in held:
            if self._is_read(row, end):
                done.append(row.delivery_id)
            else:
                back = replace(row, state=DeliveryState.PENDING, taker="")
                self._open[row.delivery_id] = back
        ids = {row.delivery_id for row in held}
        self._carried -= ids
        self._passing -= ids
        # a turn that goes on without us may still be cut off, by the end of the process
        is_left = end is TurnEnd.LEFT
        await self._end(done, DeliveryState.HANDED if is_left else DeliveryState.ACKNOWLEDGED)
        return tuple(done)

    def give_back(self, taker: str) -> None:
        """Put back what a taker could not bring."""
        for row in tuple(self._open.values()):
            if row.taker == taker:
                self._open[row.delivery_id] = replace(row, state=DeliveryState.PENDING, taker="")

    def _is_read(self, row: Delivery, end: TurnEnd) -> bool:
        """Whether the model has a result for good once its turn has ended like this."""
        carried = row.delivery_id in self._carried
        match end:
            case TurnEnd.ANSWERED:
                return True
            case TurnEnd.LEFT:
                return carried
            case TurnEnd.STOPPED:
                return carried and row.delivery_id not in self._passing
            case TurnEnd.LOST:
                return False

    async def acknowledge(self, delivery_ids: Collection[str]) -> None:
        """These have reached their owner."""
        known = [delivery_id for delivery_id in delivery_ids if delivery_id in self._open]
        await self._end(known, DeliveryState.ACKNOWLEDGED)

    async def close(self, delivery_ids: Collection[str]) -> None:
        """Nobody is to get these any more."""
        known = [delivery_id for delivery_id in delivery_ids if delivery_id in self._open]
        await self._end(known, DeliveryState.CLOSED)

    def has_handed(self) -> bool:
        """Whether anybody holds a result, which is known in memory alone."""
        return any(row.state is DeliveryState.HANDED for row in self._open.values())

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
                await self._store.update_deliveries(
                    ids,
                    expected=ON_THE_WAY,
                    state=state,
                    taker=self._executor if state is DeliveryState.HANDED else "",
                )
            except StoreError:
                logger.exception("The delivery of %d results could not be stored yet", len(ids))
                return
            for delivery_id in ids:
                self._ended.pop(delivery_id, None)
