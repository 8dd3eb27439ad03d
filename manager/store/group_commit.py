"""Group commit: writers that wait at the same moment share one transaction.

SQLite has one writer at a time, and beginning and committing cost more than what is written
between them. When a shared transaction fails it is rolled back, and each of its writers is given
one of its own: a failing write never takes another one along. When none can be begun, no write is
to blame and none would fare better: all that wait are refused at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from ..errors import StoreUnavailable

_MOST_WRITERS = 16
"""Writers of one transaction. They all go on in the same pass of the event loop, which nothing else
can interrupt; more of them would save no time that could be noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    work: Callable[[Connection], Any]
    result: asyncio.Future[Any]


class _NotBegunError(Exception):
    """No transaction could be begun; its cause says why."""


class GroupCommit:
    """Queues writes for one connection and runs them in order of their arrival."""

    def __init__(self, connection: Connection, thread: Executor) -> None:
        """Set it up.

        Args:
            connection: Used by nobody else.
            thread: Where transactions are run.
        """
        self._connection = connection
        self._thread = thread
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
        attempt = await self._attempt(group)
        if len(group) > 1 and _error_of(attempt) is not None:
            attempt, group = await self._commit_apart(group, attempt)
        if isinstance(_error_of(attempt), _NotBegunError):
            group = (*group, *self._queue)
            self._queue.clear()
        _settle(group, attempt)

    async def _commit_apart(
        self, group: Sequence[_Write], attempt: asyncio.Future[list[Any]]
    ) -> tuple[asyncio.Future[list[Any]], Sequence[_Write]]:
        """Give each write a transaction of its own, as long as one can be begun.

        Returns:
            The last attempt, and the writes that are still to be told of it.
        """
        for place, write in enumerate(group):
            if not isinstance(_error_of(attempt), _NotBegunError):
                attempt = await self._attempt((write,))
            if isinstance(_error_of(attempt), _NotBegunError):
                return attempt, group[place:]
            _settle((write,), attempt)
        return attempt, ()

    async def _attempt(self, group: Sequence[_Write]) -> asyncio.Future[list[Any]]:
        loop = asyncio.get_running_loop()
        attempt = loop.run_in_executor(self._thread, _in_transaction, self._connection, group)
        await asyncio.wait((attempt,))
        return attempt


def _in_transaction(connection: Connection, group: Sequence[_Write]) -> list[Any]:
    try:
        transaction = connection.begin()
    except Exception as error:
        raise _NotBegunError from error
    with transaction:
        return [write.work(connection) for write in group]


def _error_of(attempt: asyncio.Future[Any]) -> BaseException | None:
    """The error that writers are told, None for none or a cancellation."""
    return None if attempt.cancelled() else attempt.exception()


def _settle(group: Sequence[_Write], attempt: asyncio.Future[list[Any]]) -> None:
    """Hand an attempt's outcome to its writers, as far as they still wait."""
    waiting = [
        (place, write.result) for place, write in enumerate(group) if not write.result.done()
    ]
    for place, result in waiting:
        if attempt.cancelled():
            result.cancel()
        elif error := _error_of(attempt):
            # what the writers wait for is why, not what it means for the group
            cause = error.__cause__ if isinstance(error, _NotBegunError) else None
            result.set_exception(cause or error)
        else:
            result.set_result(attempt.result()[place])
