"""The lines of an exported session: how they are written, and how strictly they are read.

Each line is a JSON object with a `kind`. The first is the `header`. Then comes for each session a
line for each of its rows, whose `kind` is the table's name, and a line `end`, so that a file that
was cut off is noticed. `transfer.py` uses it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import SubAgentError
from ..models import SessionId
from .doctor_rows import TABLES, StoredTable, portable_row, record_of
from .migrations import HEAD
from .rows import DamagedRow, Values
from .schema import run_order

FORMAT = "astrbot_plugin_subagents.store"
VERSION = 1

_HEADER = "header"
_END = "end"


class BadExport(SubAgentError):
    """What is to be imported is not what an export has written.

    Attributes:
        line: The number of the line, from 1.
        problem: What is wrong with it.
    """

    code = "bad_export"

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(f"Line {line} {problem}. Nothing was imported.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRow:
    """One row as its record."""

    stored: StoredTable
    record: Any
    values: Values
    """The row that the record makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSession:
    """All rows of one session, those that own others first."""

    session: SessionId
    rows: tuple[ExportedRow, ...]


def header_line() -> str:
    """The first line of an export."""
    return _line({"kind": _HEADER, "format": FORMAT, "version": VERSION, "schema": HEAD})


def row_line(stored: StoredTable, raw: Mapping[str, Any]) -> str:
    """The line of a row, which must be sound."""
    return _line({"kind": stored.name, "row": portable_row(stored, raw)})


def end_line(session: str, rows: int) -> str:
    """The line after the last row of a session."""
    return _line({"kind": _END, "session": session, "rows": rows})


def read_sessions(lines: Iterable[str]) -> Iterator[ExportedSession]:
    """Read an export, one session at a time.

    Raises:
        BadExport: A line is not as this version writes it, or something is missing.
    """
    numbered = enumerate(lines, 1)
    _check_header(*next(numbered, (1, "")))
    number, rows = 1, list[ExportedRow]()
    seen: set[str] = set()
    for number, line in numbered:
        content = _object(number, line)
        if content.get("kind") != _END:
            rows.append(_row(number, content))
            continue
        session = _checked_end(number, content, rows)
        if session in seen:
            raise BadExport(number, f"ends the session {session!r} a second time")
        seen.add(session)
        yield ExportedSession(session=session, rows=tuple(rows))
        rows.clear()
    if rows:
        raise BadExport(number, "is the last one, in the middle of a session")


def _check_header(number: int, line: str) -> None:
    header = _object(number, line)
    if header.get("kind") != _HEADER or header.get("format") != FORMAT:
        raise BadExport(number, "is not the header of an export of this plugin")
    if header.get("version") != VERSION:
        raise BadExport(
            number,
            f"names the format's version {header.get('version')!r}; known is {VERSION}",
        )
    schema = header.get("schema")
    if not isinstance(schema, str) or not schema.isdigit() or len(schema) != len(HEAD):
        raise BadExport(number, "names no schema")
    if schema > HEAD:
        raise BadExport(
            number, f"names the schema {schema} of a later version; this one knows {HEAD}"
        )


def _row(number: int, content: Mapping[str, Any]) -> ExportedRow:
    kind, row = content.get("kind"), content.get("row")
    stored = next((each for each in TABLES if each.name == kind), None)
    if stored is None or stored.table is run_order:
        raise BadExport(number, f"is of an unknown kind, {kind!r}")
    if not isinstance(row, dict):
        raise BadExport(number, "has no row")
    columns = {column.name for column in stored.table.c} - {"id"}
    # A column that a later schema added may be missing where it may be empty.
    if unknown := sorted(row.keys() - columns):
        raise BadExport(number, f"has unknown columns: {', '.join(unknown)}")
    try:
        record = record_of(stored, {**row, "id": 0})
    except DamagedRow as error:
        raise BadExport(number, f"is no row of `{kind}`: {error.problem}") from error
    values = stored.values(SessionId(row.get("session", "")), record)
    return ExportedRow(stored=stored, record=record, values=values)


def _checked_end(number: int, content: Mapping[str, Any], rows: Sequence[ExportedRow]) -> SessionId:
    session = content.get("session")
    if not isinstance(session, str) or content.get("rows") != len(rows):
        raise BadExport(number, f"does not fit the {len(rows)} rows before it")
    if any(row.values.get("session", session) != session for row in rows):
        raise BadExport(number, "ends a session to which not all rows before it belong")
    # These could else be hung on a run or turn of another session.
    for table, owners, key in (("run_step", "run", "run_id"), ("turn_call", "turn", "turn_id")):
        if _keys(rows, table, key) - _keys(rows, owners, key):
            raise BadExport(number, f"ends a session with a `{table}` of another one")
    return SessionId(session)


def _keys(rows: Sequence[ExportedRow], table: str, key: str) -> set[str]:
    return {row.values[key] for row in rows if row.stored.name == table}


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (RecursionError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise BadExport(number, "is no JSON object")
    return content


def _line(content: Mapping[str, Any]) -> str:
    # ASCII, so that no terminal and no pipe can spoil it.
    return f"{json.dumps(content, separators=(',', ':'))}\n"
