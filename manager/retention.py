"""Retention: what is old is deleted once a day, in small batches, so that nobody waits for it.

Chats that nobody uses go as a whole, see `expiry.py`; this is about what a chat in use gathers.
"""

import logging
from datetime import datetime, timedelta

from .services import Services

logger = logging.getLogger(__name__)

_BATCH = 1_000
"""Rows of each table that go in one transaction: the writes of runs come in between."""
_MOST_DAYS = 36_500
"""Longer ago than any store is old, and still a date."""


class Retention:
    """Deletes old events, journals and runs."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def sweep(self) -> int:
        """Delete all that is old; how many rows went.

        Raises:
            StoreError: The store cannot be written; what has gone until then is gone.
        """
        kept = self._services.settings().retention
        gone = 0
        while rows := await self._services.store.delete_old(
            events_before=self._before(kept.events_days),
            steps_before=self._before(kept.steps_days),
            runs_before=self._before(kept.runs_days),
            limit=_BATCH,
        ):
            gone += rows
        if gone:
            logger.info("%d old rows were deleted", gone)
        return gone

    def _before(self, days: int) -> datetime:
        """The time before which something is old; 0 days keep it for ever."""
        days = min(days or _MOST_DAYS, _MOST_DAYS)
        return self._services.clock.now() - timedelta(days=days)
