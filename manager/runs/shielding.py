"""Work that must not be left half done when its task is cancelled: writes to the store."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def seen_out(work: asyncio.Task[None]) -> None:
    """Wait for a task; a cancellation ends it, too, and is raised again once it has ended."""
    try:
        await asyncio.wait([work])
    except asyncio.CancelledError:
        work.cancel()
        await carry_through(asyncio.wait([work]))
        raise


async def carry_through[T](work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Carry work to its end even when the calling task is cancelled meanwhile.

    Returns:
        The result, and whether a cancellation came in; the caller raises it again.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except Exception:  # noqa: BLE001 - it is the work's own, raised by `result()` below
            break
    return task.result(), cancelled
