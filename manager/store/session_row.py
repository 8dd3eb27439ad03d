"""The row of a session of which something is kept for the first time.

The functions that write an agent, a run or a note call it, so nothing is ever kept without a record
of its session. All other work on sessions is in `sql_sessions.py`.
"""

from datetime import datetime

from sqlalchemy import Connection

from ..models import SessionId, SessionRecord
from .codec import session_values
from .schema import session as session_table
from .statements import insert_if_new

_INSERT = insert_if_new(session_table, "session")


def keep_session(connection: Connection, session: SessionId, at: datetime) -> None:
    """Insert the session's record; one that is there stays as it is."""
    record = SessionRecord(session=session, created_at=at, last_active_at=at)
    connection.execute(_INSERT[connection.dialect.name], session_values(record))
