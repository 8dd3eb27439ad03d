"""Export and import of sessions: a backup of one chat, or the way to another database.

An export only looks, while a bot may be at work; an import needs the lock. An export holds all that
is kept of a session, so also what was said in it, but no setting and no password. Files that
sub-agents made lie in the session's folder and are not in it. `transfer_lines.py` has its form.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TextIO

from sqlalchemy import ColumnElement, Connection, select, union

from ..errors import StoreUnavailable, SubAgentError
from ..models import SessionId
from . import migrations, schema
from .address import parse_address
from .database import Database
from .doctor_places import changing, look
from .doctor_rows import TABLES, Raw, StoredTable, key_text, lying_rows, record_of
from .rows import DamagedRow
from .transfer_lines import (
    BadExport,
    ExportedSession,
    end_line,
    header_line,
    read_sessions,
    row_line,
)
from .transfer_writing import unfinished, write_session

__all__ = ["BadExport", "Moved", "SessionExists", "export_sessions", "import_sessions"]

_KEPT = union(
    *(
        select(table.c.session)
        for table in (
            schema.session,
            schema.subagent,
            schema.run,
            schema.message,
            schema.shared_entry,
        )
    )
).subquery()
_SESSIONS = select(_KEPT.c.session)


class SessionExists(SubAgentError):
    """A session that is to be imported is in the store already.

    Attributes:
        session: Its id.
    """

    code = "session_exists"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The session {session!r} is in the store already. Nothing was imported; it is replaced"
            " only when you say so."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was exported or imported."""

    sessions: int = 0
    rows: int = 0
    interrupted: int = 0
    """Runs that were under way, and came in as interrupted."""


async def export_sessions(
    address: str | Path, stream: TextIO, *, session: SessionId | None = None
) -> Moved:
    """Write sessions as JSON lines; each is one snapshot.

    Args:
        address: As `database_url`.
        stream: Where the lines go; when an error is raised, it holds a part that no import takes.
        session: The one session; None is all, in the order of their ids.

    Raises:
        StoreUnavailable: The store cannot be read, its schema is not the newest, a row of it is
            damaged, or it holds nothing of the session.
    """
    place = parse_address(address)
    found = await look(place, _session_ids)
    if session is not None and session not in found:
        raise StoreUnavailable(f"nothing is kept in it of the session {session!r}")
    stream.write(header_line())
    moved = Moved()
    for each in found if session is None else [session]:
        lines = await look(place, partial(_lines_of, session=each))
        stream.writelines((*lines, end_line(each, len(lines))))
        moved = Moved(sessions=moved.sessions + 1, rows=moved.rows + len(lines))
    return moved


async def import_sessions(address: str | Path, stream: TextIO, *, replace: bool = False) -> Moved:
    """Read what an export wrote; all of it is checked before anything is written.

    Runs that were under way come in as interrupted, with a delivery; deliveries that were under way
    are pending again. Each session is one transaction.

    Args:
        address: As `database_url`; a SQLite file that is not there is made.
        stream: The lines.
        replace: Whether a session that is in the store already is deleted first.

    Raises:
        BadExport: A line is not as an export writes it; nothing was written.
        SessionExists: A session is in the store already; nothing was written.
        StoreLocked: A bot uses the store.
        StoreUnavailable: It cannot be written; the error names the session that was refused.
    """
    place = parse_address(address)
    now = datetime.now(UTC)
    with _rewindable(stream) as lines:
        begin = lines.tell()
        sessions = [each.session for each in read_sessions(lines)]
        async with changing(place) as database:
            if not replace:
                await _refuse_known(database, sessions)
            lines.seek(begin)
            work = partial(write_session, now=now, replaces=replace)
            moved = Moved()
            for each in read_sessions(lines):
                moved = await _import_one(database, each, moved, work)
    return moved


def _session_ids(connection: Connection) -> list[SessionId]:
    if not migrations.is_newest(connection):
        raise StoreUnavailable(
            "its tables are those of an earlier version; start the bot once with this version"
        )
    # Sorted here, since databases sort texts in ways of their own.
    return [SessionId(session) for session in sorted(connection.scalars(_SESSIONS))]


def _lines_of(connection: Connection, *, session: SessionId) -> list[str]:
    lines: list[str] = []
    for stored in TABLES:
        if stored.table is schema.run_order:
            # Nobody is at work any more where a session comes in.
            continue
        where = _belongs(stored, session)
        rows = [_sound(stored, lying.raw) for lying in lying_rows(connection, stored.table, where)]
        if "id" not in stored.table.c:
            rows.sort(key=itemgetter(*stored.key))
        lines += [row_line(stored, raw) for raw in rows]
    return lines


def _sound(stored: StoredTable, raw: Raw) -> Raw:
    try:
        record_of(stored, raw)
    except DamagedRow as error:
        raise StoreUnavailable(
            f"the row {key_text(stored, raw)} of `{stored.name}` is damaged ({error.problem}); let"
            " the doctor mend it first"
        ) from error
    return raw


def _belongs(stored: StoredTable, session: SessionId) -> ColumnElement[bool]:
    run, turn, call = schema.run, schema.turn, schema.turn_call
    if stored.table is schema.run_step:
        runs = select(run.c.run_id).where(run.c.session == session)
        return stored.table.c.run_id.in_(runs)
    if stored.table is call:
        turns = select(turn.c.turn_id).where(turn.c.session == session)
        return (call.c.session == session) & call.c.turn_id.in_(turns)
    return stored.table.c.session == session


async def _refuse_known(database: Database, sessions: Sequence[SessionId]) -> None:
    known = frozenset(await database.read(_session_ids))
    for session in sessions:
        if session in known:
            raise SessionExists(session)


async def _import_one(
    database: Database,
    session: ExportedSession,
    moved: Moved,
    work: Callable[[Connection, ExportedSession], None],
) -> Moved:
    try:
        await database.write(work, session)
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"it refused the session {session.session!r}: {error.problem}; sessions imported before"
            f" it: {moved.sessions}"
        ) from error
    return Moved(
        sessions=moved.sessions + 1,
        rows=moved.rows + len(session.rows),
        interrupted=moved.interrupted + len(unfinished(session)),
    )


@contextmanager
def _rewindable(stream: TextIO) -> Iterator[TextIO]:
    """The stream, or a copy of it in a temporary file where it can be read only once."""
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as copy:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield copy
