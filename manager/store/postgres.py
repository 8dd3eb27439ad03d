"""The database as a PostgreSQL server: a small pool of connections, shared by reads and writes.

The driver, asyncpg, is an optional dependency and is loaded when a server is opened.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Concatenate

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ..errors import StoreUnavailable
from . import migrations
from .database import Calls
from .problems import translated

_CONNECTIONS = 8
_CONNECT_SECONDS = 10.0
_COMMAND_SECONDS = 60.0
_ATTEMPTS = 3
_DEADLOCK = ("40P01", "40001")
"""What the server says when two transactions met; the one that is told so may try again."""


class PostgresDatabase:
    """One PostgreSQL database; other processes may use it too."""

    def __init__(self, dsn: str) -> None:
        self._driver = _load_driver()
        self._engine = _engine(self._driver, dsn)
        # Reads need no transaction: each is one statement.
        self._reader = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._calls = Calls()

    async def open(self) -> None:
        """Connect, and bring the schema up to date; processes that start at once take turns."""
        try:
            if not await self.read(migrations.is_newest):
                await self.write(migrations.upgrade)
        except ValueError:
            # from the driver, about a part of the address; its text may repeat that part
            raise StoreUnavailable(
                "its address has a part that cannot be used; check host, port and parameters"
            ) from None

    async def close(self) -> None:
        """Finish what has begun and close all connections."""
        await self._calls.finish()
        await self._engine.dispose()

    async def read[**P, T](
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that only reads."""
        return await self._run(self._reader, lambda c: work(c, *args, **kwargs))

    async def write[**P, T](
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function in a transaction of its own."""
        return await self._run(self._engine, lambda c: work(c, *args, **kwargs))

    async def _run[T](self, engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
        driver = self._driver
        known = (driver.PostgresError, driver.InterfaceError, driver.InternalClientError)
        with translated(*known):
            return await self._calls.run(_repeat(engine, work))


async def _repeat[T](engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _attempt(engine, work)
        except DBAPIError as error:
            if not _may_repeat(error):
                raise
    return await _attempt(engine, work)


async def _attempt[T](engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
    async with engine.connect() as connection:
        result = await connection.run_sync(work)
        await connection.commit()
        return result


def _may_repeat(error: DBAPIError) -> bool:
    # No statement: the commit itself failed, and nobody knows whether it was done.
    if error.statement is None:
        return False
    return error.connection_invalidated or getattr(error.orig, "sqlstate", "") in _DEADLOCK


def _load_driver() -> ModuleType:
    try:
        return import_module("asyncpg")
    except ModuleNotFoundError:
        raise StoreUnavailable(
            "PostgreSQL needs the package asyncpg: pip install asyncpg"
        ) from None


def _engine(driver: ModuleType, dsn: str) -> AsyncEngine:
    # The driver reads the address, so that all that libpq knows may stand in it.
    connect = partial(
        driver.connect, dsn, timeout=_CONNECT_SECONDS, command_timeout=_COMMAND_SECONDS
    )
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        hide_parameters=True,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        # The codec has made the text of JSON already.
        json_serializer=str,
        json_deserializer=str,
    )
