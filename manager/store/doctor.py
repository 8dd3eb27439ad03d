"""The doctor of a store: what is wrong with it, and mending what can be mended.

It looks at a SQLite file or a PostgreSQL database without the lock and without changing anything,
while a bot may be at work. It changes something only when it is told to, and then needs the lock.
The command line is in `command.py`.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from ..errors import InvalidArgument, StoreTooNew, StoreUnavailable
from . import migrations
from .address import FileAddress, parse_address
from .doctor_checks import (
    ORPHANS,
    gaps,
    orphans,
    table_of,
    unfinished_runs,
    unrecorded_sessions,
)
from .doctor_mending import mend_all
from .doctor_places import Place, changing, look
from .doctor_report import Finding, FindingKind, Report, StoreSize, TableSize
from .doctor_rows import TABLES
from .doctor_space import file_complaints, is_held, size_of, space_findings

__all__ = ["Finding", "FindingKind", "Report", "StoreSize", "TableSize", "examine"]

_REVISION = text(f"SELECT version_num FROM {migrations.VERSION_TABLE}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Schema:
    revision: str
    finding: Finding | None

    @property
    def is_newest(self) -> bool:
        return self.finding is None


async def examine(
    address: str | Path, *, mend: bool = False, removed: Path | None = None
) -> Report:
    """Look at a store, and mend it if told so.

    Args:
        address: As `database_url`; a URL of a server is a secret.
        mend: Whether to mend what can be mended; no bot may have a SQLite file open then.
        removed: The file that rows are written to before they go. None: beside a SQLite file, with
            `.removed.jsonl` behind its name; a server needs one.

    Raises:
        InvalidArgument: Mending a server needs `removed`.
        StoreLocked: It is to be mended, and a bot uses it.
        StoreUnavailable: It cannot be reached, read or, if it is to be mended, written.
    """
    place = parse_address(address)
    if mend and removed is None:
        removed = _beside(place)
    report = await _look_at(place)
    if removed is None or not mend or not any(each.mendable for each in report.findings):
        return report
    old = tuple(each for each in report.findings if each.kind is FindingKind.SCHEMA)
    work = partial(mend_all, removed=removed, at=datetime.now(UTC))
    async with changing(place) as database:
        mended = await database.write(work)
    return replace(await _look_at(place), mended=(*old, *mended))


async def _look_at(place: Place) -> Report:
    return await look(place, partial(_report, place=place, held=is_held(place)))


def _report(connection: Connection, *, place: Place, held: bool | None) -> Report:
    if complaints := file_complaints(connection):
        return Report(schema="", findings=tuple(complaints), size=StoreSize(total=0))
    schema = _schema_of(connection)
    size = size_of(connection, place)
    if schema.finding is not None:
        return Report(schema=schema.revision, findings=(schema.finding,), size=size)
    tables: list[TableSize] = []
    findings: list[Finding] = []
    for stored in TABLES:
        table, damaged = table_of(connection, stored)
        tables.append(table)
        findings += damaged
    for kind in ORPHANS:
        findings += orphans(connection, kind)
    findings += [finding for _, finding in unrecorded_sessions(connection)]
    findings += gaps(connection)
    findings += unfinished_runs(connection, held=held)
    findings += space_findings(size)
    return Report(schema=schema.revision, findings=tuple(findings), tables=tuple(tables), size=size)


def _schema_of(connection: Connection) -> _Schema:
    try:
        if migrations.is_newest(connection):
            return _Schema(revision=migrations.HEAD, finding=None)
    except StoreTooNew as error:
        return _Schema(
            revision=error.found,
            finding=_of_schema(
                f"a later version wrote it ({error.found}; this one knows {migrations.HEAD})",
                "update the plugin, and look again with that version",
            ),
        )
    except StoreUnavailable as error:
        return _Schema(
            revision="",
            finding=_of_schema(error.problem, "it is left alone; name the plugin's own store"),
        )
    if not inspect(connection).has_table(migrations.VERSION_TABLE):
        return _Schema(
            revision="",
            finding=_of_schema("it is empty", "nothing to do: the bot makes its tables"),
        )
    found = str(connection.scalar(_REVISION))
    return _Schema(
        revision=found,
        finding=_of_schema(
            f"its tables are those of an earlier version ({found}; this one has {migrations.HEAD})",
            "they are brought up to date, as the bot does when it starts; the rows are looked at"
            " after that",
            mendable=True,
        ),
    )


def _of_schema(problem: str, remedy: str, *, mendable: bool = False) -> Finding:
    return Finding(kind=FindingKind.SCHEMA, problem=problem, remedy=remedy, mendable=mendable)


def _beside(place: Place) -> Path:
    if isinstance(place, FileAddress):
        return place.path.with_name(f"{place.path.name}.removed.jsonl")
    raise InvalidArgument("removed", "must name a file for the rows that are removed")
