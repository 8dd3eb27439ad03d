"""The supervisor owns every task of the core: nothing runs that it does not know.

One per process. It starts tasks, hands out places in the line, and at the end cancels and
awaits all of them. It knows nothing of agents or results.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from ..errors import ShuttingDown
from .line import Caps, Line
from .pace import Pace

logger = logging.getLogger(__name__)

_ROUNDS = 4
_ROUND_SECONDS = 5.0
"""How often a task is cancelled at the end, and how long it gets each time."""


class Supervisor:
    """Owns the tasks and the line of one process."""

    def __init__(self, caps: Callable[[], Caps]) -> None:
        self.line = Line(caps)
        self.pace = Pace()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._on_closing: list[Callable[[], None]] = []

    @property
    def closing(self) -> bool:
        """Whether the shutdown has begun."""
        return self._closing

    def when_closing(self, callback: Callable[[], None]) -> None:
        """Call back when the shutdown begins, at once if it has: whoever waits should return."""
        if self._closing:
            callback()
        else:
            self._on_closing.append(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        """Take a callback of `when_closing` away; an unknown one is ignored."""
        if callback in self._on_closing:
            self._on_closing.remove(callback)

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run a coroutine as an owned task.

        Raises:
            ShuttingDown: Nothing new starts any more; the coroutine was closed.
        """
        if self._closing:
            work.close()
            raise ShuttingDown
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("Task %s failed", task.get_name(), exc_info=error)

    async def close(self) -> None:
        """Cancel all tasks and wait until each has ended.

        A task that swallows its cancellation is cancelled again; one that never ends is given up,
        so that a broken child cannot keep the bot from stopping.
        """
        self._closing = True
        while self._on_closing:
            self._on_closing.pop()()
        for _ in range(_ROUNDS):
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                done, _pending = await asyncio.wait(self._tasks, timeout=_ROUND_SECONDS)
                self._tasks -= done
        for task in self._tasks:
            logger.error("Task %s would not stop; it is left behind", task.get_name())
