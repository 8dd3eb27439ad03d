"""Mending a store, as one function over a connection that may write.

Whatever goes is first written to a file of JSON lines, which is on the disk before the change is
committed. Should the change then fail, the file names rows that are still in the store.
"""

import json
import os
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

from sqlalchemy import Connection, delete, text

from ..models import SessionId
from .doctor_checks import ORPHANS, Orphans, damaged_rows, orphans, unrecorded_sessions
from .doctor_report import Finding
from .doctor_rows import TABLES, StoredTable, is_at, lying_rows, portable, take_any_text
from .schema import metadata
from .session_row import keep_session

_LOCK_SECONDS = 5


class RemovedRows:
    """The file of removed rows; it is made with its first row, for its owner's eyes only."""

    def __init__(self, path: Path, at: datetime) -> None:
        self._path = path
        self._at = portable(at)
        self._file: TextIO | None = None

    def __enter__(self) -> "RemovedRows":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())

    def add(self, table: str, problem: str, raw: dict[str, object]) -> None:
        """Write one row; each byte that is no text stands as a lone surrogate."""
        if self._file is None:
            self._file = _open_private(self._path)
        row = {name: portable(value) for name, value in raw.items()}
        line = {"removed_at": self._at, "table": table, "problem": problem, "row": row}
        self._file.write(f"{json.dumps(line)}\n")


def mend_all(connection: Connection, *, removed: Path, at: datetime) -> list[Finding]:
    """Mend all that can be mended; what was mended.

    Args:
        connection: In a transaction, on a store of the newest schema.
        removed: The file of removed rows; more is appended to one that is there.
        at: The time now.
    """
    take_any_text(connection)
    _keep_others_out(connection)
    mended: list[Finding] = []
    with RemovedRows(removed, at) as rows:
        for stored in TABLES:
            mended += _remove_damaged(connection, stored, rows)
        # only now: what a damaged row owned has no owner any more
        for kind in ORPHANS:
            mended += _remove_orphans(connection, kind, rows)
    for session, finding in unrecorded_sessions(connection):
        keep_session(connection, SessionId(session), at)
        mended.append(finding)
    return mended


def _keep_others_out(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'"))
        tables = ", ".join(f'"{name}"' for name in metadata.tables)
        connection.execute(text(f"LOCK TABLE {tables} IN EXCLUSIVE MODE"))


def _remove_damaged(
    connection: Connection, stored: StoredTable, rows: RemovedRows
) -> list[Finding]:
    damaged = [(lying, finding) for lying, finding in damaged_rows(connection, stored) if finding]
    for lying, finding in damaged:
        rows.add(stored.name, finding.problem, lying.raw)
        connection.execute(delete(stored.table).where(is_at(connection, stored.table, lying.place)))
    return [finding for _, finding in damaged]


def _remove_orphans(connection: Connection, kind: Orphans, rows: RemovedRows) -> list[Finding]:
    findings = orphans(connection, kind)
    if findings:
        for lying in lying_rows(connection, kind.table, kind.where):
            rows.add(kind.table.name, kind.problem, lying.raw)
        connection.execute(delete(kind.table).where(kind.where))
    return findings


def _open_private(path: Path) -> TextIO:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(handle, "a", encoding="utf-8")
