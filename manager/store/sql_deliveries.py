"""The outbox, as functions over a connection. `SqlStore` calls them."""

from collections.abc import Collection
from datetime import datetime
from itertools import batched
from typing import Any

from sqlalchemy import Connection, Select, Update, bindparam, func, select, update

from ..models import Delivery, DeliveryState, OwnerId, SessionId
from .codec_runs import delivery_values, read_delivery
from .rows import read_sound
from .schema import delivery
from .session_row import is_of_home
from .statements import insert_if_new

_AT_ONCE = 500
"""Values of one IN list; databases bound the parameters of a statement."""

_IN_STATES = delivery.c.state.in_(bindparam("in_states", expanding=True))

_INSERT = insert_if_new(delivery, "delivery_id")
_LOAD = (
    select(delivery)
    .where(delivery.c.session == bindparam("of_session"), _IN_STATES)
    .order_by(delivery.c.created_at, delivery.c.id)
)
_PENDING = (
    select(delivery.c.session, delivery.c.owner)
    .where(delivery.c.state == DeliveryState.PENDING.value)
    .group_by(delivery.c.session, delivery.c.owner)
    .order_by(func.min(delivery.c.id))
)
_MOVE = (
    update(delivery)
    .where(delivery.c.delivery_id.in_(bindparam("of_deliveries", expanding=True)), _IN_STATES)
    .values(attempts=delivery.c.attempts + bindparam("more_attempts"))
    .returning(delivery.c.delivery_id)
)
_RELEASE = update(delivery).where(_IN_STATES)
_READ_BY = update(delivery).where(
    delivery.c.state == bindparam("in_state"), delivery.c.taker == bindparam("by")
)


def add(connection: Connection, item: Delivery) -> None:
    """Insert a result; one that is in the outbox already stays as it is."""
    connection.execute(_INSERT[connection.dialect.name], delivery_values(item))


def load(
    connection: Connection, session: SessionId, states: Collection[DeliveryState]
) -> list[Delivery]:
    """The session's results in these states, oldest first."""
    values = {"of_session": session, "in_states": [state.value for state in states]}
    return read_sound(connection, _LOAD, values, read=read_delivery, number=delivery.c.id)


def pending_owners(connection: Connection, home: str | None) -> list[tuple[SessionId, OwnerId]]:
    """Whose results wait, in all sessions or those of a home; who waits longest first."""
    rows = connection.execute(_of_home(_PENDING, home))
    return [(SessionId(session), OwnerId(owner)) for session, owner in rows]


def move(
    connection: Connection,
    delivery_ids: Collection[str],
    *,
    expected: Collection[DeliveryState],
    state: DeliveryState,
    taker: str,
    lease_until: datetime | None,
) -> list[str]:
    """Move the results that are in an expected state; their ids in the order asked for."""
    values = {
        "in_states": [old.value for old in expected],
        "state": state.value,
        "taker": taker,
        "lease_until": lease_until,
        "more_attempts": int(state is DeliveryState.CLAIMED),
    }
    moved: set[str] = set()
    for some in batched(delivery_ids, _AT_ONCE):
        moved.update(connection.scalars(_MOVE, {**values, "of_deliveries": some}))
    return [delivery_id for delivery_id in delivery_ids if delivery_id in moved]


def _of_home[S: (Select[Any], Update)](statement: S, home: str | None) -> S:
    return statement if home is None else statement.where(is_of_home(delivery.c.session, home))


def release(connection: Connection, executor: str, home: str | None) -> int:
    """Put back what was claimed or handed, but for what this process has."""
    connection.execute(
        _of_home(_READ_BY, home),
        {
            "in_state": DeliveryState.HANDED.value,
            "by": executor,
            "state": DeliveryState.ACKNOWLEDGED.value,
            "taker": "",
        },
    )
    values = {
        "in_states": [DeliveryState.CLAIMED.value, DeliveryState.HANDED.value],
        "state": DeliveryState.PENDING.value,
        "taker": "",
        "lease_until": None,
    }
    return connection.execute(_of_home(_RELEASE, home), values).rowcount
