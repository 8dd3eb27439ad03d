"""The two clocks of a run: idle (nothing happened) and total.

The idle clock stands still while a model call, or a tool call with a limit of its own, is open.
"""

from collections.abc import Callable

from ..host import Clock
from ..models import StopReason


class RunClocks:
    """Watches one run and calls `stop` once, with the reason, when a clock is up."""

    def __init__(
        self, clock: Clock, *, total: float, idle: float, stop: Callable[[StopReason], object]
    ) -> None:
        """Set the clocks up.

        Args:
            clock: The host's time.
            total: Seconds left for the whole run; 0 is no limit.
            idle: Seconds without anything happening; 0 is no limit.
            stop: Called at most once.
        """
        self._clock = clock
        self._total = total
        self._idle = idle
        self._stop = stop
        self._open = 0
        self._quiet_since = clock.monotonic()
        self._cancels: dict[StopReason, Callable[[], None]] = {}

    def start(self) -> None:
        """Let both clocks run."""
        now = self._clock.monotonic()
        self._quiet_since = now
        if self._total:
            self._watch(StopReason.TIMEOUT, now + self._total, self._total_is_up)
        if self._idle:
            self._watch(StopReason.IDLE, now + self._idle, self._idle_is_up)

    def close(self) -> None:
        """Stop both clocks."""
        for cancel in self._cancels.values():
            cancel()
        self._cancels.clear()

    def touch(self) -> None:
        """Something happened."""
        self._quiet_since = self._clock.monotonic()

    def opened(self) -> None:
        """An operation with a limit of its own began."""
        self._open += 1
        self.touch()

    def closed(self) -> None:
        """An operation with a limit of its own ended."""
        self._open = max(0, self._open - 1)
        self.touch()

    def _watch(self, reason: StopReason, when: float, callback: Callable[[], None]) -> None:
        self._cancels[reason] = self._clock.call_at(when, callback)

    def _total_is_up(self) -> None:
        self.close()
        self._stop(StopReason.TIMEOUT)

    def _idle_is_up(self) -> None:
        since = self._clock.monotonic() if self._open else self._quiet_since
        when = since + self._idle
        if when > self._clock.monotonic():
            self._watch(StopReason.IDLE, when, self._idle_is_up)
            return
        self.close()
        self._stop(StopReason.IDLE)
