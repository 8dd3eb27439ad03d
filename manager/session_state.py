"""What a session keeps of itself: its own switches, and when it was last used.

The switches stand above the settings; None follows them. Who may turn them is `steering.py`'s.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from .models import SessionRecord, SubAgentConfig
from .runs.budget import DayTokens
from .runs.shielding import carry_through
from .services import Services
from .turn_record import TurnRecord

_ACTIVITY_STEP = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the store keeps of a session, as its manager is made of it."""

    record: SessionRecord
    agents: Sequence[SubAgentConfig]
    day: DayTokens
    lost: Sequence[TurnRecord] = ()
    """Turns that a restart cut off, oldest first."""


class SessionState:
    """The session's record, in memory and in the store."""

    def __init__(self, record: SessionRecord, services: Services) -> None:
        self._record = record
        self._services = services
        self._used_at = record.last_active_at
        # one change at a time, so that none is made from an outdated record
        self._changing = asyncio.Lock()

    @property
    def used_at(self) -> datetime:
        """When the session was last used; the store knows it to the nearest ten minutes."""
        return self._used_at

    @property
    def memory_switch(self) -> bool | None:
        """The session's own switch of memories; None follows the settings."""
        return self._record.memory_enabled

    @property
    def board_switch(self) -> bool | None:
        """The session's own switch of the board; None follows the settings."""
        return self._record.board_enabled

    def remembers(self) -> bool:
        """Whether agents have their memory now."""
        own = self.memory_switch
        return self._services.settings().history_enabled if own is None else own

    def touch(self) -> None:
        """The session is being used."""
        self._used_at = self._services.clock.now()

    async def note_activity(self) -> None:
        """Have the store know that the session was used, to the nearest `_ACTIVITY_STEP`.

        A session of which nothing is kept stays unknown to it.
        """
        self.touch()
        if self._used_at - self._record.last_active_at < _ACTIVITY_STEP:
            return
        if await self._services.store.load_session(self._record.session) is not None:
            await self._change()

    async def switch_memory(self, on: bool | None) -> None:
        """Set the session's own switch of memories; None follows the settings.

        Raises:
            StoreUnavailable: It could not be stored; the switch is as before.
        """
        await self._change(memory_enabled=on)

    async def switch_board(self, on: bool | None) -> None:
        """Set the session's own switch of the board; None follows the settings.

        Raises:
            StoreUnavailable: It could not be stored; the switch is as before.
        """
        await self._change(board_enabled=on)

    async def _change(self, **changes: Any) -> None:
        self.touch()
        async with self._changing:
            # the store may have made the record itself, later than the one in memory was made
            changed = replace(self._record, last_active_at=self._used_at, **changes)
            _, cancelled = await carry_through(self._services.store.save_session(changed))
            self._record = changed
        if cancelled:
            raise asyncio.CancelledError
