"""Events, as functions over a connection. `SqlStore` calls them."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, insert, select

from ..models import RunId, SessionId
from ..stored_event import StoredEvent
from .codec_log import event_values, read_event
from .rows import read_sound
from .schema import run_event

_POSTGRES_LOCK = 0x5B_A6_E4_76
"""Any constant of its own: who adds events at the same time takes the same lock."""

_LOCK = select(func.pg_advisory_xact_lock(_POSTGRES_LOCK))
_INSERT = insert(run_event)
_AFTER = (
    select(run_event)
    .where(run_event.c.id > bindparam("after"))
    .order_by(run_event.c.id)
    .limit(bindparam("most"))
)
_LAST = select(func.max(run_event.c.id))


def add(connection: Connection, events: Sequence[StoredEvent]) -> None:
    """Append events, in their order."""
    if not events:
        return
    if connection.dialect.name == "postgresql":
        # Numbers are given before the commit: without the lock a reader could see a higher one
        # first, go on from there and never see the lower one.
        connection.execute(_LOCK)
    connection.execute(_INSERT, [event_values(event) for event in events])


def after(
    connection: Connection,
    event_id: int,
    *,
    session: SessionId | None,
    run_id: RunId | None,
    limit: int,
) -> list[StoredEvent]:
    """The events that came next."""
    statement = _AFTER
    if session is not None:
        statement = statement.where(run_event.c.session == session)
    if run_id is not None:
        statement = statement.where(run_event.c.run_id == run_id)
    values = {"after": event_id, "most": limit}
    return read_sound(connection, statement, values, read=read_event, number=run_event.c.id)


def last(connection: Connection) -> int:
    """The highest number that is kept, or 0."""
    return connection.scalar(_LAST) or 0
