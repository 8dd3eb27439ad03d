"""Signals among the processes of one PostgreSQL store, by LISTEN and NOTIFY."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import get_args

from psycopg import AsyncConnection
from psycopg import Error as PsycopgError
from psycopg.sql import SQL, Identifier

from ..errors import StoreUnavailable
from .job_queue import JobQueue, first_line
from .pg_schema import CONNECT_SECONDS
from .ports import Signal, SignalKind

logger = logging.getLogger(__name__)

_RECONNECT_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
_SILENCE_SECONDS = 30.0
"""After so long without a word the connection is asked whether it is still there."""
_ANSWER_SECONDS = 10.0
_TAKE_NAME = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_NAME_TRIES = 15
"""With pauses of the shortest kind: the server may not know yet that its holder is gone."""
_NOTICE_DEATH = (
    "SELECT set_config('tcp_keepalives_idle', '10', false),"
    " set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)
"""Else a server takes hours to see that the machine at the other end is gone."""
_KINDS: frozenset[SignalKind] = frozenset(get_args(SignalKind.__value__))


class PostgresSignals:
    """See `Signals`."""

    def __init__(self, queue: JobQueue, *, home: str) -> None:
        """Hear nothing yet.

        Args:
            queue: Its database is the one listened at, and its connections carry what is told.
            home: The name of this process; while it listens, no other may have the same.
        """
        self._queue = queue
        self._home = home
        self._channel = ""
        self._listeners: dict[object, tuple[Callable[[Signal], None], Callable[[], None]]] = {}
        self._connection: AsyncConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_unheard = False

    async def open(self, channel: str) -> None:
        """Listen from now on, again and again where the connection breaks.

        Args:
            channel: The same in all processes of a store.

        Raises:
            StoreUnavailable: The first connection could not be made in time, or another process
                goes by the same name.
        """
        self._channel = channel
        try:
            connection = self._connection = await self._connected()
            if not await self._has_name(connection):
                raise StoreUnavailable(
                    f"another process is at work that is called {self._home} too, as the file "
                    "`home` in the plugin's data folder says; each process needs a data folder of "
                    "its own, and one that was copied from another must lose that file"
                )
        except (PsycopgError, OSError, TimeoutError) as error:
            raise StoreUnavailable(first_line(error)) from error
        self._connection = connection
        self._task = asyncio.create_task(self._listen(connection))

    async def close(self) -> None:
        """Hear nothing more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self._connection is not None:
            # The task may not even have begun.
            await self._connection.close()

    async def tell(self, signal: Signal) -> None:
        """See `Signals.tell`."""
        try:
            await self._queue.notify(self._channel, f"{signal.kind} {signal.subject}")
        except StoreUnavailable as error:
            if not self._is_unheard:
                logger.warning("Other processes hear some seconds later what is new: %s", error)
            self._is_unheard = True
        else:
            self._is_unheard = False

    def subscribe(
        self, heard: Callable[[Signal], None], missed: Callable[[], None]
    ) -> Callable[[], None]:
        """See `Signals.subscribe`."""
        key = object()
        self._listeners[key] = (heard, missed)
        return lambda: self._listeners.pop(key, None) and None

    async def _listen(self, connection: AsyncConnection) -> None:
        tries = 0
        while True:
            try:
                async with connection:
                    tries = 0
                    await self._hear(connection)
            except (PsycopgError, OSError, TimeoutError) as error:
                logger.debug("Listening for other processes broke off: %s", error)
            while True:
                await asyncio.sleep(_RECONNECT_SECONDS[min(tries, len(_RECONNECT_SECONDS) - 1)])
                tries += 1
                with contextlib.suppress(PsycopgError, OSError, TimeoutError):
                    connection = self._connection = await self._connected()
                    break
            self._each(lambda listener: listener[1]())

    async def _hear(self, connection: AsyncConnection) -> None:
        if not await self._has_name(connection):
            logger.error("Another process is called %s too: both look after its chats", self._home)
        while True:
            async for notice in connection.notifies(timeout=_SILENCE_SECONDS):
                self._tell_here(notice.payload)
            async with asyncio.timeout(_ANSWER_SECONDS):
                await connection.execute("SELECT 1")

    async def _connected(self) -> AsyncConnection:
        connection = await AsyncConnection.connect(
            self._queue.address, autocommit=True, connect_timeout=CONNECT_SECONDS
        )
        try:
            await connection.execute(_NOTICE_DEATH)
            await connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _has_name(self, connection: AsyncConnection) -> bool:
        """Take the name for as long as the connection lasts; one that died lets go of it."""
        name = f"{self._channel} {self._home}"
        for _ in range(_NAME_TRIES):
            found = await connection.execute(_TAKE_NAME, (name,))
            row = await found.fetchone()
            if row is not None and row[0]:
                return True
            await asyncio.sleep(_RECONNECT_SECONDS[0])
        return False

    def _tell_here(self, payload: str) -> None:
        word, _, subject = payload.partition(" ")
        kinds: dict[str, SignalKind] = {kind: kind for kind in _KINDS}
        if (kind := kinds.get(word)) is not None:
            signal = Signal(kind=kind, subject=subject)
            self._each(lambda listener: listener[0](signal))

    def _each(
        self, call: Callable[[tuple[Callable[[Signal], None], Callable[[], None]]], None]
    ) -> None:
        for listener in tuple(self._listeners.values()):
            try:
                call(listener)
            except Exception:  # a subscriber's fault must not keep the word from others
                logger.exception("Hearing a signal failed")
