"""Lets those who ask AstrBot the same at the same time share one answer.

Many children of one call ask for the same things within milliseconds, and AstrBot opens a database
session for each question. No answer is ever kept, and none is older than the question: who asks
while AstrBot is looking waits for the next look, together with all others who do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class SharedAnswers[K: Hashable, T]:
    """Answers of one kind, by what was asked."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Future[T]] = {}
        self._next: dict[K, asyncio.Future[T]] = {}

    async def ask(self, question: K, look: Callable[[], Awaitable[T]]) -> T:
        """Ask, or take part in a question that AstrBot has not been asked yet.

        Args:
            question: All that the answer may depend on.
            look: Asks AstrBot. What it raises is raised to all who take part.
        """
        while (answer := self._next.get(question)) is not None:
            # not awaited itself, or the first who is cancelled would cancel it for all
            await asyncio.wait((answer,))
            if not answer.cancelled():
                return answer.result()
            # who was to ask for all was cancelled
        return await self._look(question, look)

    async def _look(self, question: K, look: Callable[[], Awaitable[T]]) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        try:
            if (running := self._running.get(question)) is not None:
                self._next[question] = answer
                try:
                    await asyncio.wait((running,))
                finally:
                    del self._next[question]
            self._running[question] = answer
            try:
                found = await look()
            finally:
                del self._running[question]
        except BaseException as error:
            _fail(answer, error)
            raise
        answer.set_result(found)
        return found


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if isinstance(error, Exception):
        answer.set_exception(error)
        # looked at, so that asyncio does not report it as lost when nobody takes part
        answer.exception()
    else:
        answer.cancel()
