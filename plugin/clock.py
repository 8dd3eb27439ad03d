"""The real clock behind the port: wall time, monotonic time, timers and ids.

It is the only place where the plugin reads time and randomness.
"""

import asyncio
import secrets
import string
import time
from collections.abc import Callable
from datetime import UTC, datetime

_ALPHABET = string.ascii_lowercase + string.digits
_ID_LENGTH = 10
"""Ten of 36 characters: a clash among a million ids is as likely as one in seven thousand."""
_ID_COUNT = len(_ALPHABET) ** _ID_LENGTH


class SystemClock:
    """See `Clock`."""

    def now(self) -> datetime:
        """See `Clock.now`."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        """See `Clock.call_at`."""
        # the loop's own time is not promised to be `time.monotonic`
        loop = asyncio.get_running_loop()
        return loop.call_later(max(0.0, when - self.monotonic()), callback).cancel

    def new_id(self) -> str:
        """See `Clock.new_id`."""
        # one draw for all characters: ids of many runs are made at once
        number, characters = secrets.randbelow(_ID_COUNT), ""
        for _ in range(_ID_LENGTH):
            number, at = divmod(number, len(_ALPHABET))
            characters += _ALPHABET[at]
        return characters
