"""Ends of runs that the store would not take when they came: kept here, and written later.

Until then the store takes such a run for unfinished, and what it said is missing from its
conversation. So the next run of that conversation waits here until the end is written: it would
not remember it, and would use its numbers. What the outbox could not write is tried again along
with them; what became of the results is known there alone.
"""

import asyncio
import logging
from collections import Counter
from dataclasses import replace

from ..errors import LostRun, StoreError
from ..models import ConversationId, RunId, SessionId
from ..services import Services
from ..store.protocol import RunWrite, Store
from .outbox import Outbox
from .pausing import pause
from .supervisor import Supervisor

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 10.0
_WHOLE_ATTEMPTS = 6
"""After so many the store is given the end without its rows: they may be what it does not take."""


class MissedEnds:
    """What one session has still to write; it tries again by itself."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        supervisor: Supervisor,
        outbox: Outbox,
    ) -> None:
        self._session = session
        self._services = services
        self._supervisor = supervisor
        self._outbox = outbox
        self._writes: dict[RunId, RunWrite] = {}
        self._failures: Counter[RunId] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._written = asyncio.Event()

    def __contains__(self, run_id: object) -> bool:
        """Whether the end of this run is still to be written."""
        return run_id in self._writes

    def __bool__(self) -> bool:
        """Whether anything is still to be written."""
        return bool(self._writes)

    def add(self, write: RunWrite) -> None:
        """Keep an end that the store did not take, or has not taken yet."""
        self._writes[write.run.run_id] = write
        self.keep_trying()

    def keep_trying(self) -> None:
        """Try again from time to time until nothing is left to be written."""
        busy = self._task is not None and not self._task.done()
        if not busy and not self._is_done() and not self._supervisor.closing:
            name = f"missed ends of {self._session}"
            self._task = self._supervisor.start(self._try_again(), name=name)

    async def write(self) -> None:
        """Try to write all of it now; one end that fails holds up no other."""
        await asyncio.gather(*map(self._write, tuple(self._writes)))
        await self._outbox.write_ends()

    async def caught_up(self, conversation: ConversationId) -> None:
        """Return once the store has every end of a conversation."""
        if not self._is_behind(conversation):
            return
        await self.write()
        while self._is_behind(conversation):
            self._written.clear()
            await self._written.wait()

    def _is_behind(self, conversation: ConversationId) -> bool:
        return any(write.run.conversation == conversation for write in self._writes.values())

    def _is_done(self) -> bool:
        return not self._writes and self._outbox.is_stored()

    async def _try_again(self) -> None:
        while not self._is_done():
            await pause(self._services.clock, _RETRY_SECONDS)
            await self.write()

    async def _write(self, run_id: RunId) -> None:
        if (missed := self._writes.get(run_id)) is None:
            # another attempt, begun at the same time, has written it
            return
        write = replace(missed, delivery=self._outbox.unread(run_id))
        # at a shutdown the end counts most: without it the next start would do the work again
        last = self._supervisor.closing or self._failures[run_id] >= _WHOLE_ATTEMPTS
        try:
            await write_end(self._services.store, write, rows_may_go=last)
        except LostRun:
            logger.info("The end of run %s stands in the store already", run_id)
        except Exception as error:  # noqa: BLE001 - logged when it began, and tried again
            logger.warning("The end of run %s could still not be stored: %s", run_id, error)
            self._failures[run_id] += 1
            return
        self._writes.pop(run_id, None)
        self._failures.pop(run_id, None)
        self._written.set()


async def write_end(store: Store, write: RunWrite, *, rows_may_go: bool) -> None:
    """Write the end of a run with the rows that belong to it.

    Rows that cannot be stored at all are left out: the end must not be lost with them.

    Args:
        store: Where it is written.
        write: The end.
        rows_may_go: Leave them out also when the store fails for a reason that may pass.

    Raises:
        LostRun: The store has an end of this run, or it is another executor's.
        StoreError: It could not be written now.
    """
    try:
        await store.write_run(write)
    except LostRun:
        raise
    except Exception as error:
        has_rows = bool(write.steps or write.messages)
        if not has_rows or (isinstance(error, StoreError) and not rows_may_go):
            raise
        logger.exception("What run %s did could not be stored", write.run.run_id)
        await store.write_run(replace(write, steps=(), messages=()))
