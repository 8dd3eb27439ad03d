"""Retention: what is old is deleted once a day, in small batches, so that nobody waits for it.

Chats that nobody uses go as a whole, see `expiry.py`; this is about what a chat in use gathers.
"""

import logging

from .daily import days_before
from .services import Services

logger = logging.getLogger(__name__)

_BATCH = 1_000
"""Rows of each table that go in one transaction: the writes of runs come in between."""


class Retention:
    """Deletes old events, journals and runs."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def sweep(self) -> int:
        """Delete all that is old; how many rows went.

        Raises:
            StoreError: The store cannot be written; what has gone until then is gone.
        """
        kept, now = self._services.settings().retention, self._services.clock.now()
        gone = 0
        while rows := await self._services.store.delete_old(
            events_before=days_before(now, kept.events_days),
            steps_before=days_before(now, kept.steps_days),
            runs_before=days_before(now, kept.runs_days),
            limit=_BATCH,
        ):
            gone += rows
        if gone:
            logger.info("%d old rows were deleted", gone)
        return gone
