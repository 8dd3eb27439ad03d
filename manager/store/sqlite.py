"""The database as a SQLite file: one connection that writes, a few that only read.

Each transaction runs whole in a thread of the store's own, so that it costs the event loop one
change of threads and not one for each statement. A lock file beside the database keeps a second
process out. It is held from `open` to `close` and released by the system when the process dies.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate

from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event

from ..errors import StoreLocked, StoreUnavailable
from . import migrations
from .database import Calls
from .group_commit import GroupCommit
from .problems import translated

_READERS = 3
_BUSY_SECONDS = 10.0
"""How long to wait for another program that writes to the file, a backup for example."""


class SqliteDatabase:
    """One SQLite file, opened for this process alone."""

    def __init__(self, path: Path) -> None:
        with translated(ValueError, RuntimeError):
            self._path = path.resolve()
        self._lock = lock_of(self._path)
        self._reader = _engine(self._path, connections=_READERS, mode="ro")
        self._writer = _engine(self._path, connections=1, mode="rwc")
        event.listen(self._writer, "begin", _begin)
        self._reading = ThreadPoolExecutor(_READERS, thread_name_prefix="store-read")
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._calls = Calls()
        self._connection: Connection | None = None
        self._commits: GroupCommit | None = None

    async def open(self) -> None:
        """Take the lock, look at the schema without touching the file, then open it to write."""
        with translated():
            self._take_lock()
            self._check_writable()
            self._connection = await self._calls.run(_in(self._writing, self._open))
            self._commits = GroupCommit(self._connection, self._writing)

    async def close(self) -> None:
        """Finish what has begun, close the file, release the lock."""
        with translated():
            await self._calls.finish()
            if self._commits is not None:
                await self._commits.finish()
            try:
                await _in(self._writing, self._let_go)
            finally:
                self._reading.shutdown()
                self._writing.shutdown()
                self._lock.release()

    async def read[**P, T](
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function on a connection that cannot write."""
        with translated():
            return await self._calls.run(
                _in(self._reading, lambda: self._read(lambda c: work(c, *args, **kwargs)))
            )

    async def write[**P, T](
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function in a transaction, which other writers may share."""
        if self._commits is None:
            raise StoreUnavailable("it is closed")
        with translated():
            return await self._commits.run(lambda connection: work(connection, *args, **kwargs))

    def _take_lock(self) -> None:
        if self._path.is_dir():
            raise StoreUnavailable(f"{self._path} is a folder, not a file")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        take_lock(self._lock, self._path)

    def _open(self) -> Connection:
        if self._is_there():
            self._look()
        connection = self._writer.connect()
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _let_go(self) -> None:
        # The writer goes last: as the last connection it puts the WAL into the file.
        self._reader.dispose()
        if self._connection is not None:
            self._connection.close()
        self._writer.dispose()

    def _check_writable(self) -> None:
        # SQLite opens a read-only file without a word, and fails at the first write.
        if self._path.exists():
            self._path.open("r+b").close()

    def _is_there(self) -> bool:
        return self._path.exists() and self._path.stat().st_size > 0

    def _look(self) -> None:
        """Refuse a schema that is not ours; not a byte of the file or its folder changes."""
        engine = self._looking_engine()
        try:
            with engine.connect() as connection:
                migrations.is_newest(connection)
        finally:
            engine.dispose()

    def _looking_engine(self) -> Engine:
        # Without a WAL the file is all there is, and SQLite need not make one in order to read.
        frozen = {} if wal_of(self._path).exists() else {"immutable": "1"}
        return _engine(self._path, connections=1, mode="ro", **frozen)

    def _read[T](self, work: Callable[[Connection], T]) -> T:
        with self._reader.connect() as connection:
            return work(connection)


def lock_of(path: Path) -> BaseFileLock:
    """The lock of a SQLite file, which whoever changes the file must have; not taken yet."""
    return FileLock(f"{path}.lock")


def take_lock(lock: BaseFileLock, path: Path) -> None:
    """Take the lock of a file at once.

    Raises:
        StoreLocked: Another process has it.
    """
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreLocked(str(path)) from None


def wal_of(path: Path) -> Path:
    """The file beside a SQLite file in which what is new stands first."""
    return path.with_name(f"{path.name}-wal")


async def _in[T](threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def _engine(path: Path, *, connections: int, **parameters: str) -> Engine:
    return create_engine(
        URL.create("sqlite", database=path.as_uri(), query={"uri": "true", **parameters}),
        # Whichever thread has a connection is alone with it: the pool sees to that.
        connect_args={
            "isolation_level": None,
            "timeout": _BUSY_SECONDS,
            "check_same_thread": False,
        },
        hide_parameters=True,
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        pool_reset_on_return=None,
    )


def _begin(connection: Connection) -> None:
    # With no isolation level the driver never begins by itself. Immediate: what a write is
    # decided on must not change under it.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _prepare(connection: Connection) -> None:
    driver = connection.connection.cursor()
    driver.execute("PRAGMA journal_mode = WAL")
    driver.execute("PRAGMA synchronous = NORMAL")
    driver.close()
    with connection.begin():
        migrations.upgrade(connection)
