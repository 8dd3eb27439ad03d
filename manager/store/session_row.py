"""The row of a session of which something is kept for the first time, and whose sessions are.

The functions that write an agent, a run or a note make the row, so nothing is ever kept without a
record of its session. All other work on sessions is in `sql_sessions.py`.
"""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, select

from ..models import SessionId, SessionRecord
from .codec import session_values
from .schema import session as session_table
from .statements import insert_if_new

_INSERT = insert_if_new(session_table, "session")


def keep_session(connection: Connection, session: SessionId, at: datetime) -> None:
    """Insert the session's record; one that is there stays as it is."""
    record = SessionRecord(session=session, created_at=at, last_active_at=at)
    connection.execute(_INSERT[connection.dialect.name], session_values(record))


def is_of_home(column: ColumnElement[str], home: str) -> ColumnElement[bool]:
    """The condition that a column names a session of a home."""
    table = session_table
    return column.in_(select(table.c.session).where(table.c.home == home))
