"""Driver errors -> `StoreUnavailable`, in words that say what is wrong and no secret.

Neither the address of a database nor what was being written is ever part of the text.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ..errors import StoreUnavailable

_SQLITE = MappingProxyType(
    {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_READONLY: "the file is read-only",
        sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
        sqlite3.SQLITE_CORRUPT: "the file is damaged",
        sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
        sqlite3.SQLITE_BUSY: "another program is writing to the file",
        sqlite3.SQLITE_LOCKED: "another program is writing to the file",
        sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
        sqlite3.SQLITE_PERM: "access to the file is not allowed",
        sqlite3.SQLITE_AUTH: "access to the file is not allowed",
    }
)


@contextmanager
def translated(*driver_errors: type[Exception]) -> Iterator[None]:
    """Raise `StoreUnavailable` for what the driver and the system may raise inside.

    Args:
        *driver_errors: Errors of the driver that SQLAlchemy does not wrap.
    """
    known: tuple[type[Exception], ...] = (OSError, sqlite3.Error, *driver_errors)
    try:
        yield
    except IntegrityError as error:
        raise StoreUnavailable("a record of this key exists already") from error
    except DBAPIError as error:
        raise StoreUnavailable(_describe(error.orig or error)) from error
    except PoolTimeout as error:
        raise StoreUnavailable("all connections are busy") from error
    except known as error:
        raise StoreUnavailable(_describe(error)) from error


def _describe(error: BaseException) -> str:
    if isinstance(error, sqlite3.Error):
        # The low byte is the kind of problem; the rest tells kinds of it apart.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return _SQLITE.get(code, f"SQLite says: {_first_line(error)}")
    if isinstance(error, TimeoutError):
        return "the database did not answer in time"
    if isinstance(error, OSError):
        problem = error.strerror or _first_line(error)
        return f"{error.filename}: {problem}" if error.filename else problem
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
