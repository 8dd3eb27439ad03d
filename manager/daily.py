"""What is done at the start and once a day: nothing of it is urgent, and nobody waits for it."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from .errors import StoreError
from .host import Clock
from .runs.pausing import pause

logger = logging.getLogger(__name__)

_DAY_SECONDS = 86_400.0
_MOST_DAYS = 36_500
"""Longer ago than any store is old, and still a date."""


async def every_day(clock: Clock, *jobs: Callable[[], Awaitable[object]]) -> None:
    """Do the jobs now, and again each day, until the task is cancelled.

    Args:
        clock: The host's time.
        jobs: Each may raise `StoreError`; the others are done all the same.
    """
    while True:
        for job in jobs:
            try:
                await job()
            except StoreError:
                logger.exception("What is old could not be deleted; the next try is tomorrow")
        await pause(clock, _DAY_SECONDS)


def days_before(now: datetime, days: int) -> datetime:
    """The time before which something is old; 0 days keep it for ever."""
    return now - timedelta(days=min(days or _MOST_DAYS, _MOST_DAYS))
