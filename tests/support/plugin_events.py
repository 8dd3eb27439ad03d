"""What happens in our plugin while AstrBot runs it, so that tests need not wait by the clock.

Events are told apart by the names of their classes: the plugin runs under AstrBot's name for it,
not under its pip name.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .astrbot_host import Bot

WAIT_SECONDS = 30.0


class PluginEvents:
    """The events since a moment."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self.all: list[Any] = []
        self._changed = asyncio.Event()

    def add(self, happened: Any) -> None:
        """Keep an event."""
        self.all.append(happened)
        self._changed.set()

    async def first(self, matches: Callable[[Any], bool]) -> Any:
        """Wait for the first event that matches, also if it has happened before.

        Raises:
            TimeoutError: None came within half a minute.
        """
        return (await self._wait_for(matches, 1))[0]

    async def run_over(self) -> Any:
        """Wait until a run has ended and return it."""
        return (await self.runs_over(1))[0]

    async def runs_over(self, count: int) -> list[Any]:
        """Wait until that many runs have ended and return them."""
        found = await self._wait_for(_tells_the_end_of_a_run, count)
        return [happened.run for happened in found]

    async def turns_over(self, count: int, *, group: str | None = None) -> None:
        """Wait until that many turns of the chat have ended, wake-up turns included.

        Args:
            count: How many.
            group: The group chat; None is the test's private chat.
        """
        chat = self._bot.umo(group=group)

        def is_over(happened: Any) -> bool:
            return type(happened).__name__ == "TurnEnded" and happened.session == chat

        await self._wait_for(is_over, count)

    async def _wait_for(self, matches: Callable[[Any], bool], count: int) -> list[Any]:
        async with asyncio.timeout(WAIT_SECONDS):
            while len(found := [each for each in self.all if matches(each)]) < count:
                self._changed.clear()
                await self._changed.wait()
            return found[:count]


@contextmanager
def plugin_events(bot: Bot) -> Iterator[PluginEvents]:
    """Listen to the plugin that AstrBot runs now."""
    events = PluginEvents(bot)
    stop = bot.plugins.ours.app.bus.subscribe(events.add)
    try:
        yield events
    finally:
        stop()


def _tells_the_end_of_a_run(happened: Any) -> bool:
    return type(happened).__name__ == "RunChanged" and bool(happened.run.is_over)
