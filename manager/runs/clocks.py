"""The two clocks of a run: idle (nothing happened) and total.

The idle clock stands still while a model call, or a tool call with a limit of its own, is open;
both do while the run waits for an answer.
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
        self._ends_at = self._quiet_since + total
        self._paused_at: float | None = None
        self._cancels: dict[StopReason, Callable[[], None]] = {}

    def start(self) -> None:
        """Let both clocks run."""
        self._quiet_since = self._clock.monotonic()
        self._ends_at = self._quiet_since + self._total
        self._set()

    def _set(self) -> None:
        if self._total:
            self._watch(StopReason.TIMEOUT, self._ends_at, self._total_is_up)
        if self._idle:
            when = self._clock.monotonic() + self._idle
            self._watch(StopReason.IDLE, when, self._idle_is_up)

    def pause(self) -> None:
        """Let both clocks stand still; nothing counts until `resume`."""
        if self._paused_at is None:
            self._take_back()
            self._paused_at = self._clock.monotonic()

    def resume(self) -> None:
        """Let both clocks go on where they stood."""
        if self._paused_at is None:
            return
        stood = self._clock.monotonic() - self._paused_at
        self._paused_at = None
        self._ends_at += stood
        self.touch()
        self._set()

    def close(self) -> None:
        """Stop both clocks for good."""
        self._take_back()
        self._paused_at = None

    def _take_back(self) -> None:
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
