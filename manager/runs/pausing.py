"""Waiting for time to pass, by the host's clock."""

import asyncio

from ..host import Clock


async def pause(clock: Clock, seconds: float) -> None:
    """Wait this long."""
    over = asyncio.Event()
    take_back = clock.call_at(clock.monotonic() + seconds, over.set)
    try:
        await over.wait()
    finally:
        take_back()
