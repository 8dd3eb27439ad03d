"""Waiting for runs to end: nothing polls."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from ..host import Clock
from ..models import Run
from .supervisor import Supervisor


async def until_over(
    ends: Collection[asyncio.Future[Run]],
    questions: Collection[asyncio.Future[None]],
    *,
    wait_for_all: bool,
    timeout_seconds: float,
    clock: Clock,
    supervisor: Supervisor,
) -> None:
    """Return when all or one of the ends are there, a run asks, the time is up, or all closes.

    Args:
        ends: At least one; each is done once its run is over.
        questions: Each is done once its run asks something.
        wait_for_all: False: the first is enough.
        timeout_seconds: The most to wait.
        clock: The host's time.
        supervisor: Tells when the plugin closes.
    """
    over = asyncio.get_running_loop().create_future()

    def end(*_: object) -> None:
        if not over.done():
            over.set_result(None)

    def one_done(_: object) -> None:
        if not wait_for_all or all(future.done() for future in ends):
            end()

    cancel_timer = clock.call_at(clock.monotonic() + timeout_seconds, end)
    supervisor.when_closing(end)
    heard: list[tuple[asyncio.Future[Any], Callable[[Any], None]]]
    heard = [*((each, one_done) for each in ends), *((each, end) for each in questions)]
    for future, callback in heard:
        future.add_done_callback(callback)
    try:
        await over
    finally:
        cancel_timer()
        supervisor.forget(end)
        for future, callback in heard:
            future.remove_done_callback(callback)
