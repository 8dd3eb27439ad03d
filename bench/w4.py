"""W4: what the journal costs. A step, the event loop under many runs, and waiting."""

import asyncio
import gc
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lag import Lag, LagMeter, medians
from measure import sample
from paced_host import ANSWER, PacedHost
from report import Figure

from astrbot_plugin_subagents.manager import (
    RunId,
    Sessions,
    Settings,
    SubAgentManager,
    Turn,
    TurnEnd,
)
from astrbot_plugin_subagents.manager.events import Event, EventBus, RunChanged
from astrbot_plugin_subagents.manager.settings import TaskSettings
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.tasks import NewTask, no_fork_context
from astrbot_plugin_subagents.manager.testing import make_services, make_turn
from astrbot_plugin_subagents.plugin.clock import SystemClock

RUNS = 200
WAITS = 1000
STEPS = 50
"""Of the run whose steps are measured."""
_RUN_STEPS = 4
"""Of each of the many runs."""
_MODEL_SECONDS = 0.05
_WAITED_SECONDS = 5.0
_LONG = 120.0
_MORE = 10
"""So many samples of what is done in no time are taken for one of what takes seconds."""

MOST_MS_PER_STEP = 3.0
MOST_LAG_MS = 20.0


async def run(folder: Path, *, times: int) -> list[Figure]:
    """Measure all of it.

    Args:
        folder: Where the stores are to be.
        times: How many samples of each are taken.
    """
    step = await _ms_per_step(folder, times=times * _MORE)
    lag = medians([await _lag(folder / f"w4_{number}.db") for number in range(times)])
    return [
        _figure("core", STEPS, "ms_per_step", step, MOST_MS_PER_STEP),
        _figure("core", RUNS, "lag_ms_max", lag.most, MOST_LAG_MS),
        _figure("core", RUNS, "lag_ms_p99", lag.p99),
        _figure("core", RUNS, "lag_ms_mean", lag.mean),
        _figure("core", 1, "ms_to_waiter", await _ms_to_waiter(folder, times=times * _MORE)),
        _figure("core", WAITS, "cpu_percent", await _percent_while_waiting(folder)),
    ]


def _figure(
    subject: str, n: int, metric: str, value: float, at_most: float | None = None
) -> Figure:
    return Figure(
        workload="W4", subject=subject, n=n, metric=metric, value=round(value, 4), at_most=at_most
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Core:
    """A core with a turn in which all may begin at once."""

    manager: SubAgentManager
    turn: Turn
    bus: EventBus

    async def begin(self, count: int) -> list[RunId]:
        """Begin that many runs by one call."""
        runs = await self.manager.start_tasks(
            [NewTask(task=f"Measure {number}.") for number in range(count)],
            self.turn,
            background=True,
            fork_context=no_fork_context,
        )
        return [run.run_id for run in runs]

    async def all_of(self, count: int) -> None:
        """That many runs, from the call that begins them to the end of the last."""
        ids = await self.begin(count)
        outcome = await self.manager.wait(ids, self.turn, timeout_seconds=_LONG)
        assert [each.last_text for each in outcome.finished] == [ANSWER] * count


@asynccontextmanager
async def _opened(path: Path, host: PacedHost) -> AsyncIterator[_Core]:
    settings = Settings(
        max_parallel_per_session=WAITS,
        max_parallel_total=WAITS,
        starts_per_turn=WAITS,
        max_steps=2 * STEPS,
        task=TaskSettings(max_tasks_per_call=WAITS),
    )
    services = make_services(SqlStore(path), path.with_suffix(""), host=host, settings=settings)
    sessions = Sessions(replace(services, clock=SystemClock()))
    await sessions.start()
    try:
        turn = make_turn()
        manager = await sessions.open(turn.session)
        manager.begin_turn(turn)
        yield _Core(manager=manager, turn=turn, bus=services.bus)
        await manager.end_turn(turn, end=TurnEnd.ANSWERED)
    finally:
        await sessions.close()


async def _ms_per_step(folder: Path, *, times: int) -> float:
    """Milliseconds of one step of a single run, its part of beginning and ending included."""
    async with _opened(folder / "w4.db", PacedHost(steps=STEPS)) as core:
        await core.all_of(1)  # the first time fills caches
        samples = [await sample(lambda: core.all_of(1)) for _ in range(times)]
    return statistics.median(each.wall_seconds for each in samples) * 1000 / STEPS


async def _lag(path: Path) -> Lag:
    """How late the event loop is while many runs are at work side by side."""
    host = PacedHost(steps=_RUN_STEPS, model_seconds=_MODEL_SECONDS)
    async with _opened(path, host) as core:
        await core.all_of(RUNS)
        gc.collect()
        async with LagMeter() as meter:
            await core.all_of(RUNS)
        return meter.lag


async def _ms_to_waiter(folder: Path, *, times: int) -> float:
    """Milliseconds from the moment a run's end is told to the return of the call that waits."""
    ended = 0.0

    def hear(event: Event) -> None:
        nonlocal ended
        if isinstance(event, RunChanged) and event.run.is_over:
            ended = time.perf_counter()

    host = PacedHost(steps=1, model_seconds=0.001)
    found = []
    async with _opened(folder / "w4_wait.db", host) as core:
        core.bus.subscribe(hear)
        for _ in range(times):
            await core.all_of(1)
            found.append(time.perf_counter() - ended)
    return statistics.median(found) * 1000


async def _percent_while_waiting(folder: Path) -> float:
    """Share of a processor that many waiting calls take together, in percent."""
    host = PacedHost(steps=1, model_seconds=_LONG)
    async with _opened(folder / "w4_waits.db", host) as core:
        (run_id,) = await core.begin(1)
        waits = [
            asyncio.create_task(core.manager.wait([run_id], core.turn, timeout_seconds=_LONG))
            for _ in range(WAITS)
        ]
        # what is written in batches is written by then
        await asyncio.sleep(3)
        gc.collect()
        began = time.process_time()
        await asyncio.sleep(_WAITED_SECONDS)
        used = time.process_time() - began
        await core.manager.cancel(run_id, core.turn.asker)
        await asyncio.gather(*waits)
    return used / _WAITED_SECONDS * 100
