"""Work that must not be left half done when its task is cancelled: writes to the store."""

import asyncio
from collections.abc import Coroutine
from typing import Any


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
