"""Waiting for time to pass, by the host's clock."""

import asyncio
from typing import Any

from ..host import Clock


async def pause(clock: Clock, seconds: float, *, until: asyncio.Future[Any] | None = None) -> None:
    """Wait this long, or until something is done, whichever comes first."""
    over = asyncio.Event()
    take_back = clock.call_at(clock.monotonic() + seconds, over.set)
    if until is not None:
        until.add_done_callback(lambda _: over.set())
    try:
        await over.wait()
    finally:
        take_back()
