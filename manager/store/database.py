"""What the store asks of a database: run functions over a connection, one transaction each.

`sqlite.py` and `postgres.py` hold it. The functions are plain synchronous SQLAlchemy Core over a
`Connection`, the same for both; neither blocks the event loop. They may run in another thread, so
what they are given must not change meanwhile.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Protocol

from sqlalchemy import Connection

from ..errors import StoreUnavailable


class Database(Protocol):
    """A database that is opened once and closed once."""

    async def open(self) -> None:
        """Connect, and bring the schema up to date; on an error nothing stays open."""
        ...

    async def close(self) -> None:
        """Finish what has begun and let go of everything."""
        ...

    async def read[**P, T](
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that only reads."""
        ...

    async def write[**P, T](
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function in a transaction of its own.

        It may be run again from the start after its transaction was rolled back, so it must have
        no effect but on the connection.
        """
        ...


class Calls:
    """Database calls that run to their end even where the caller is cancelled.

    A connection left in the middle of a call is in nobody's hands: in a transaction, or with a
    cursor open. So the caller goes, and the call ends by itself.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._refused = False

    async def run[T](self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call; cancelling the caller does not cancel it.

        Raises:
            StoreUnavailable: `finish` was called.
        """
        if self._refused:
            call.close()
            raise StoreUnavailable("it is closed")
        task = asyncio.create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        await asyncio.wait((task,))
        return task.result()

    async def finish(self) -> None:
        """Take no more calls, and wait for those under way."""
        self._refused = True
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Marks it as seen: the caller may be gone.
