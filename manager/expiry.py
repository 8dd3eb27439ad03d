"""Session expiry: chats that nobody has used for long go, with all that was kept of them.

It decides when to look and what is unused; that a session is in nobody's hands while it goes is
`Sessions`' matter. Activity is only noted now and then, so a session may stay a little too long,
never too short.
"""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from .daily import days_before
from .models import ON_THE_WAY, TERMINAL, RunState, SessionId
from .services import Services
from .store.protocol import Store
from .workdir import session_folder

logger = logging.getLogger(__name__)

_BATCH = 50
"""Sessions that are asked for at once."""

_UNFINISHED = tuple(state for state in RunState if state not in TERMINAL)


class Expiry:
    """Looks for unused sessions."""

    def __init__(
        self, services: Services, *, let_go: Callable[[SessionId, datetime], Awaitable[bool]]
    ) -> None:
        """Set it up.

        Args:
            services: The core's surroundings.
            let_go: Deletes a session unless it was used since that time, or is in use; says
                whether it is gone.
        """
        self._services = services
        self._let_go = let_go

    async def sweep(self) -> int:
        """Let all unused sessions go, one after another; how many went.

        Raises:
            StoreError: The store cannot be read or written.
        """
        days = self._services.settings().session_expiry_days
        if not days:
            return 0
        before = days_before(self._services.clock.now(), days)
        stay: set[SessionId] = set()
        gone = 0
        while batch := await self._batch(before, stay):
            for session in batch:
                if await self._let_go(session, before):
                    gone += 1
                else:
                    stay.add(session)
        if gone:
            logger.info("%d sessions unused for %d days were deleted", gone, days)
        return gone

    async def _batch(self, before: datetime, stay: set[SessionId]) -> list[SessionId]:
        idle = await self._services.store.idle_sessions(before, _BATCH + len(stay))
        return [session for session in idle if session not in stay]


async def is_unused(store: Store, session: SessionId, before: datetime) -> bool:
    """Whether the store knows of nothing in a session since that time.

    A result that came in since then and is still on its way counts: nobody has read it.
    """
    record = await store.load_session(session)
    if record is None or record.last_active_at >= before:
        return False
    if await store.list_runs(session, states=_UNFINISHED, limit=1):
        return False
    results = await store.load_deliveries(session, states=ON_THE_WAY)
    return all(result.created_at < before for result in results)


async def erase(services: Services, session: SessionId) -> bool:
    """Delete a session's folder, then all its rows.

    In this order a deletion that is cut off, or a folder that cannot be deleted, is found again the
    next day.

    Returns:
        Whether all is gone.

    Raises:
        StoreError: The rows could not be deleted.
    """
    try:
        await asyncio.to_thread(_delete_folder, session_folder(services.files, session))
    except OSError as error:
        logger.warning("The folder of an unused session cannot be deleted: %s", error)
        return False
    await services.store.delete_session(session)
    return True


def _delete_folder(folder: Path) -> None:
    """Delete a folder; of a link only the link itself, here and anywhere inside."""
    if folder.is_symlink() or folder.is_junction():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
