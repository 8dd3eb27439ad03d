"""The session's notice board, as functions over a connection. `SqlStore` calls them."""

from dataclasses import replace

from sqlalchemy import BindParameter, Connection, bindparam, delete, func, insert, select, update

from ..models import OwnerId, SessionId, SharedEntry
from .codec import entry_values, read_entry
from .rows import key_of, read_sound
from .schema import session as _session
from .schema import shared_entry
from .session_row import keep_session

_OF_SESSION: BindParameter[str] = bindparam("of_session")

_INSERT = insert(shared_entry)
_FIRST_TO_GO = (
    select(shared_entry.c.seq)
    .where(shared_entry.c.session == _OF_SESSION)
    .order_by(shared_entry.c.seq.desc())
    .limit(1)
    .offset(bindparam("keep"))
    .scalar_subquery()
)
_TRIM = delete(shared_entry).where(
    shared_entry.c.session == _OF_SESSION, shared_entry.c.seq <= _FIRST_TO_GO
)
_LAST = select(_session.c.last_note).where(_session.c.session == _OF_SESSION).with_for_update()
_NEWEST = select(func.max(shared_entry.c.seq)).where(shared_entry.c.session == _OF_SESSION)
_COUNT = update(_session).where(_session.c.session == _OF_SESSION)
_LOAD = (
    select(shared_entry).where(shared_entry.c.session == _OF_SESSION).order_by(shared_entry.c.seq)
)
_CLEAR = delete(shared_entry).where(shared_entry.c.session == _OF_SESSION)


def add(connection: Connection, session: SessionId, entry: SharedEntry, keep: int) -> SharedEntry:
    """Add a note under its number or a higher one, and let the oldest go; the note as it is."""
    keep_session(connection, session, entry.at)
    # locked, so that two processes that post at the same time do it one after the other
    last = connection.scalar(_LAST, {"of_session": session})
    if last is None:
        last = connection.scalar(_NEWEST, {"of_session": session}) or 0
    entry = replace(entry, seq=max(entry.seq, last + 1))
    connection.execute(_COUNT, {"of_session": session, "last_note": entry.seq})
    connection.execute(_INSERT, entry_values(session, entry))
    connection.execute(_TRIM, {"of_session": session, "keep": keep})
    return entry


def load(connection: Connection, session: SessionId) -> list[SharedEntry]:
    """The board, oldest first."""
    values = {"of_session": session}
    return read_sound(connection, _LOAD, values, read=read_entry, number=shared_entry.c.seq)


def clear(
    connection: Connection, session: SessionId, sender: str | None, owner: OwnerId | None
) -> int:
    """Clear the board, or what one sender or owner posted; how many notes went."""
    statement = _CLEAR
    if sender is not None:
        statement = statement.where(shared_entry.c.sender_key == key_of(sender))
    if owner is not None:
        statement = statement.where(shared_entry.c.owner == owner)
    return connection.execute(statement, {"of_session": session}).rowcount
