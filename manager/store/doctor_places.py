"""The two ways into a store for those who look after it: to look without the lock, and to change.

Looking is one snapshot of a connection that cannot write, while a bot may be at work. Changing
takes the lock and brings the schema up to date, as a bot does when it starts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from ..errors import StoreUnavailable
from .address import FileAddress, ServerAddress
from .database import Database
from .doctor_rows import take_any_text
from .postgres import PostgresDatabase
from .problems import translated
from .sqlite import SqliteDatabase, wal_of

type Place = FileAddress | ServerAddress

_BUSY_SECONDS = 10.0
_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


async def look[T](place: Place, work: Callable[[Connection], T]) -> T:
    """Run a function that only reads over one snapshot; it may be run again from the start.

    Raises:
        StoreUnavailable: There is no such store, or it cannot be read.
    """
    if isinstance(place, FileAddress):
        with translated():
            return await asyncio.to_thread(_look_at_file, place.path.resolve(), work)
    database = PostgresDatabase(place.dsn)
    try:
        return await database.write(partial(_in_snapshot, work=work))
    except ValueError:
        # from the driver, about a part of the address, which its text may repeat
        raise StoreUnavailable("its address has a part that cannot be used") from None
    finally:
        await database.close()


@asynccontextmanager
async def changing(place: Place) -> AsyncIterator[Database]:
    """The database, open to be changed by nobody else on this machine.

    Raises:
        StoreLocked: A bot uses the file.
        StoreTooNew: A later version wrote it; nothing was changed.
        StoreUnavailable: It cannot be reached or written.
    """
    database: Database
    if isinstance(place, FileAddress):
        database = SqliteDatabase(place.path)
    else:
        database = PostgresDatabase(place.dsn)
    try:
        await database.open()
        yield database
    finally:
        await database.close()


def _look_at_file[T](path: Path, work: Callable[[Connection], T]) -> T:
    if not path.is_file():
        raise StoreUnavailable(f"there is no file {path}")
    # Without a WAL the file is all there is, and reading it makes no file beside it. A bot that
    # starts meanwhile makes one: then what was read may be of two moments.
    if not wal_of(path).exists():
        try:
            found = _look_once(path, work, immutable="1")
        except DBAPIError:
            if not wal_of(path).exists():
                raise
        else:
            if not wal_of(path).exists():
                return found
    return _look_once(path, work)


def _look_once[T](path: Path, work: Callable[[Connection], T], **parameters: str) -> T:
    query = {"uri": "true", "mode": "ro", **parameters}
    engine = create_engine(
        URL.create("sqlite", database=path.as_uri(), query=query),
        connect_args={"isolation_level": None, "timeout": _BUSY_SECONDS},
        hide_parameters=True,
        poolclass=NullPool,
    )
    with engine.connect() as connection:
        take_any_text(connection)
        connection.exec_driver_sql("BEGIN")
        return work(connection)


def _in_snapshot[T](connection: Connection, *, work: Callable[[Connection], T]) -> T:
    connection.execute(_SNAPSHOT)
    return work(connection)
