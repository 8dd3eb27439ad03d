"""How much room a store takes, whether its file is sound, and making the file smaller."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from filelock import Timeout
from sqlalchemy import Connection, bindparam, text
from sqlalchemy.exc import DBAPIError

from ..errors import StoreUnavailable
from . import migrations
from .address import FileAddress
from .doctor_places import Place, look
from .doctor_report import Finding, FindingKind, StoreSize
from .postgres import PostgresDatabase
from .problems import translated
from .schema import metadata
from .sqlite import lock_of, take_lock, wal_of

_MB = 1024 * 1024
_PAYS_BYTES = 16 * _MB
_PAYS_SHARE = 0.25
"""A file is worth a VACUUM when this much of it is free."""
_LARGE_WAL_BYTES = 64 * _MB
_MOST_COMPLAINTS = 20

_SERVER_SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
    " WHERE relname IN :tables AND relnamespace = to_regnamespace(current_schema())"
).bindparams(bindparam("tables", expanding=True))


def file_complaints(connection: Connection) -> list[Finding]:
    """What SQLite's own check says of the file; a server checks its files itself."""
    if connection.dialect.name != "sqlite":
        return []
    try:
        said = list(connection.exec_driver_sql(f"PRAGMA quick_check({_MOST_COMPLAINTS})").scalars())
    except DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code != sqlite3.SQLITE_CORRUPT:
            raise
        said = ["its structure is broken"]
    return [
        Finding(
            kind=FindingKind.FILE,
            problem=f"the file is damaged: {each}",
            remedy="stop the bot, keep a copy of the file and those beside it, and restore a backup"
            " or what `sqlite3 FILE .recover` saves",
        )
        for each in said
        if each != "ok"
    ]


def size_of(connection: Connection, place: Place) -> StoreSize:
    """What the store takes on the disk."""
    if not isinstance(place, FileAddress):
        values = {"tables": [*metadata.tables, migrations.VERSION_TABLE]}
        return StoreSize(total=int(connection.scalar(_SERVER_SIZE, values)))
    page, pages, free = (
        int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("page_size", "page_count", "freelist_count")
    )
    wal = wal_of(place.path)
    return StoreSize(
        total=page * pages, free=page * free, wal=wal.stat().st_size if wal.exists() else 0
    )


def space_findings(size: StoreSize) -> list[Finding]:
    """Whether something can be done about the size of the file."""
    findings = []
    if size.free >= max(_PAYS_BYTES, size.total * _PAYS_SHARE):
        findings.append(
            Finding(
                kind=FindingKind.SPACE,
                problem=f"{size.free // _MB} MB of {size.total // _MB} MB are free inside the file",
                remedy="new rows use it; `vacuum` gives it back, with the bot stopped",
            )
        )
    if size.wal >= _LARGE_WAL_BYTES:
        findings.append(
            Finding(
                kind=FindingKind.SPACE,
                problem=f"{size.wal // _MB} MB stand in the file beside it (-wal)",
                remedy="never delete that file; a stop of the bot puts it into the store, unless"
                " another program is reading it",
            )
        )
    return findings


def is_held(place: Place) -> bool | None:
    """Whether a bot has the file open, None: this cannot be told.

    It tries the lock of a file that is there and lets go of it at once. A bot that starts in this
    very moment is refused, and tries again by itself after a second.
    """
    if not isinstance(place, FileAddress):
        return None
    lock = lock_of(place.path.resolve())
    if not Path(lock.lock_file).exists():
        return False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return None
    lock.release()
    return False


async def vacuum(place: Place) -> tuple[StoreSize, StoreSize]:
    """Give free room back to the system; the sizes before and after.

    Raises:
        StoreLocked: A bot uses the file.
        StoreTooNew: A later version wrote it.
        StoreUnavailable: It is not ours, cannot be written, or the disk has too little room.
    """

    def checked_size(connection: Connection) -> StoreSize:
        migrations.is_newest(connection)
        return size_of(connection, place)

    before = await look(place, checked_size)
    if isinstance(place, FileAddress):
        with translated():
            await asyncio.to_thread(_vacuum_file, place.path.resolve(), before.total)
    else:
        await _vacuum_server(place.dsn)
    return before, await look(place, checked_size)


def _vacuum_file(path: Path, size: int) -> None:
    # SQLite makes the new file as a second one, and then writes it over the first by the WAL.
    if shutil.disk_usage(path.parent).free < 2 * size:
        raise StoreUnavailable(f"its disk needs {2 * size // _MB} MB of free room for this")
    lock = lock_of(path)
    take_lock(lock, path)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("VACUUM")
    finally:
        lock.release()


async def _vacuum_server(dsn: str) -> None:
    def statement(connection: Connection, table: str) -> None:
        connection.exec_driver_sql(f'VACUUM (ANALYZE) "{table}"')

    database = PostgresDatabase(dsn)
    try:
        for table in metadata.tables:
            # Reads are outside of transactions, as this must be.
            await database.read(statement, table)
    finally:
        await database.close()
