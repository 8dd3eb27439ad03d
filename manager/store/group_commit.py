"""Group commit: writers that wait at the same moment share one transaction.

SQLite has one writer at a time, and beginning and committing cost more than what is written
between them. When a shared transaction fails it is rolled back, and each of its writers is given
one of its own: a failing write never takes another one along.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from ..errors import StoreUnavailable

_MOST_WRITERS = 64
"""Writers of one transaction: bounds how long a reader's snapshot lags behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    work: Callable[[Connection], Any]
    result: asyncio.Future[Any]


class GroupCommit:
    """Queues writes for one connection and runs them in order of their arrival."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._queue: deque[_Write] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._refused = False

    async def run[T](self, work: Callable[[Connection], T]) -> T:
        """Run a write and wait until it is committed.

        A caller that is cancelled before its write has begun takes it back; one that has begun is
        committed all the same.

        Raises:
            StoreUnavailable: `finish` was called.
        """
        if self._refused:
            raise StoreUnavailable("it is closed")
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Write(work=work, result=result))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await result

    async def finish(self) -> None:
        """Take no more writes, and wait for those in the queue."""
        self._refused = True
        if self._worker is not None:
            await asyncio.wait((self._worker,))

    async def _work(self) -> None:
        group: list[_Write] = []
        try:
            while group := self._next_group():
                await self._commit(group)
        finally:
            # Only the end of the event loop cancels this task: nobody may wait for ever.
            for write in (*group, *self._queue):
                write.result.cancel()

    def _next_group(self) -> list[_Write]:
        group: list[_Write] = []
        while self._queue and len(group) < _MOST_WRITERS:
            write = self._queue.popleft()
            if not write.result.done():
                group.append(write)
        return group

    async def _commit(self, group: Sequence[_Write]) -> None:
        shared = await self._attempt(group)
        if shared.cancelled() or shared.exception() is None:
            _settle(group, shared)
            return
        for write in group:
            _settle((write,), shared if len(group) == 1 else await self._attempt((write,)))

    async def _attempt(self, group: Sequence[_Write]) -> asyncio.Task[list[Any]]:
        attempt = asyncio.create_task(self._connection.run_sync(_in_transaction, group))
        await asyncio.wait((attempt,))
        return attempt


def _in_transaction(connection: Connection, group: Sequence[_Write]) -> list[Any]:
    with connection.begin():
        return [write.work(connection) for write in group]


def _settle(group: Sequence[_Write], attempt: asyncio.Task[list[Any]]) -> None:
    """Hand an attempt's outcome to its writers, as far as they still wait."""
    waiting = [
        (place, write.result) for place, write in enumerate(group) if not write.result.done()
    ]
    for place, result in waiting:
        if attempt.cancelled():
            result.cancel()
        elif error := attempt.exception():
            result.set_exception(error)
        else:
            result.set_result(attempt.result()[place])
