"""Tasks that belong to someone, who ends them.

asyncio keeps only a weak hold on a task and nobody stops it; an owner does both. Not a queue and
not a limit: every coroutine starts at once.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from astrbot.api import logger


class OwnedTasks:
    """Small jobs beside the main path, each logged when it fails."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], *, what: str) -> None:
        """Run a coroutine as a task of its own.

        Args:
            work: What to do.
            what: Names the job in the log, such as `Ending a turn`.
        """
        task = asyncio.create_task(work, name=what)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def finish(self, *, seconds: float) -> None:
        """Wait for all, also for those that start meanwhile; cancel what is left after that time.

        Args:
            seconds: The time they get.
        """
        try:
            async with asyncio.timeout(seconds):
                while self._tasks:
                    await asyncio.wait(self._tasks)
        except TimeoutError:
            left = tuple(self._tasks)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed", task.get_name(), exc_info=error)
