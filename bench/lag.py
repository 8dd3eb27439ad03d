"""How late the event loop is: what everything else in the process has to wait for its turn.

A ticker wakes up each millisecond. While it is held up, everything else is, so a pass of the loop
that takes long counts for all the moments in it: the figures are of an event that may come at any
moment, not of the ticks, of which there are the fewer the later the loop is.
"""

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_TICK_SECONDS = 0.001
_LAST = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How long an event waits for the loop, in milliseconds."""

    most: float
    p99: float
    """What one in a hundred waits at least."""
    mean: float


class LagMeter:
    """While it is entered, notes how late each tick is."""

    def __init__(self) -> None:
        self._held: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._tick())
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # whatever went on last holds up the tick that is due
        await asyncio.sleep(2 * _TICK_SECONDS)
        assert self._task is not None
        self._task.cancel()

    @property
    def lag(self) -> Lag:
        """What was found so far."""
        held = sorted(self._held, reverse=True)
        everything = sum(held) + len(held) * _TICK_SECONDS
        return Lag(
            most=held[0] * 1000,
            p99=_exceeded_for(held, everything * _LAST) * 1000,
            mean=sum(each * each / 2 for each in held) / everything * 1000,
        )

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + _TICK_SECONDS
            await asyncio.sleep(_TICK_SECONDS)
            self._held.append(max(0.0, time.perf_counter() - due))


def _exceeded_for(held: Sequence[float], seconds: float) -> float:
    """The wait that events of so much time exceed.

    Of a pass that takes `x` the first `x - wait` seconds are such that an event waits longer.

    Args:
        held: What passes took beyond a tick, the longest first.
        seconds: Less than all of them together.
    """
    total = 0.0
    for count, each in enumerate(held, start=1):
        total += each
        wait = (total - seconds) / count
        if count == len(held) or wait >= held[count]:
            return max(0.0, wait)
    return 0.0


def medians(lags: Sequence[Lag]) -> Lag:
    """The middle of several measurements, so that a hiccup of the machine does not count."""
    return Lag(
        most=statistics.median(each.most for each in lags),
        p99=statistics.median(each.p99 for each in lags),
        mean=statistics.median(each.mean for each in lags),
    )


def ratio(own: Lag, other: Lag) -> Lag:
    """One divided by another, each figure by its like."""
    return Lag(most=own.most / other.most, p99=own.p99 / other.p99, mean=own.mean / other.mean)
