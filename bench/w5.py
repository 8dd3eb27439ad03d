"""W5: how late the event loop of AstrBot is while very many tasks are at work in it.

All else that the bot does waits for the event loop: messages of other chats, the pages, the model
calls of others. `bound` does the same runs with AstrBot's own runner.
"""

import gc
import random
from collections.abc import Awaitable, Callable

from lag import Lag, LagMeter, medians, ratio
from report import Figure
from w2 import MOST, bare_runs, call_of_tasks, overheard

from support.astrbot_host import Bot

MOST_TO_BOUND = 1.25

type _Work = Callable[[], Awaitable[object]]


async def run(bot: Bot, *, times: int) -> list[Figure]:
    """Measure both side by side."""
    event, opening = await overheard(bot)
    works: dict[str, _Work] = {
        "plugin": lambda: call_of_tasks(bot, MOST),
        "bound": lambda: bare_runs(bot, event, opening, MOST),
    }
    lags: dict[str, list[Lag]] = {name: [] for name in works}
    for work in works.values():
        await work()  # the first time fills caches
    names = list(works)
    for number in range(times):
        # a growing history would soon be all that is measured
        await bot.say("/new", session="bench_tasks")
        random.Random(number).shuffle(names)
        for name in names:
            lags[name].append(await _lag(works[name]))
    to_bound = medians(
        [ratio(own, least) for own, least in zip(lags["plugin"], lags["bound"], strict=True)]
    )
    return [
        *(figure for name, taken in lags.items() for figure in _figures(name, medians(taken))),
        _figure("plugin", "lag_max_to_bound", to_bound.most, MOST_TO_BOUND),
        _figure("plugin", "lag_p99_to_bound", to_bound.p99, MOST_TO_BOUND),
        _figure("plugin", "lag_mean_to_bound", to_bound.mean, MOST_TO_BOUND),
    ]


async def _lag(work: _Work) -> Lag:
    # what one leaves behind is not to be cleared away in the time of the next
    gc.collect()
    async with LagMeter() as meter:
        await work()
    return meter.lag


def _figures(subject: str, lag: Lag) -> list[Figure]:
    return [
        _figure(subject, "lag_ms_max", lag.most),
        _figure(subject, "lag_ms_p99", lag.p99),
        _figure(subject, "lag_ms_mean", lag.mean),
    ]


def _figure(subject: str, metric: str, value: float, at_most: float | None = None) -> Figure:
    return Figure(
        workload="W5",
        subject=subject,
        n=MOST,
        metric=metric,
        value=round(value, 3),
        at_most=at_most,
    )
