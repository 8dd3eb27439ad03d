"""A store whose calls take a varying number of turns of the event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any, cast

from astrbot_plugin_subagents.manager.store import MemoryStore, Store


class SlowStore:
    """A store whose calls give way to others, now more, now less often."""

    def __init__(self, delays: list[int]) -> None:
        self.inner = MemoryStore()
        self._delays = cycle(delays)

    @property
    def store(self) -> Store:
        """Itself, as what it stands for."""
        return cast("Store", self)

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        work = getattr(self.inner, method)

        async def call(*arguments: Any, **named: Any) -> Any:
            await ticks(next(self._delays))
            result = await work(*arguments, **named)
            await ticks(next(self._delays))
            return result

        return call


async def ticks(count: int) -> None:
    """Give way to others so many times."""
    for _ in range(count):
        await asyncio.sleep(0)
