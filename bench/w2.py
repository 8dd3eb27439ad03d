"""W2: many tasks of one call side by side, three model calls each.

What is measured is the tool call itself, from the hook before it to the hook behind it: what stands
around it, two model calls of the main agent and AstrBot's own pipeline, is no part of it.
"""

import asyncio
import gc
import json
import random
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from astrbot_bench import STAMPS, STATIC
from bound import Opening, OpeningListener, bare_run, unguarded
from floor import Floor
from measure import sample
from model import CHILD_CALLS, FOUND, LOOKUP, TASK_MARK
from report import Figure, Sample, figures

from support.astrbot_host import Bot

SIZES = (8, 16, 32, 128)
MOST = 200
"""Tasks of one call, in the whole benchmark."""
ONE_BY_ONE = (8, 32)
"""Between and beyond these `astrbot` grows in a straight line, since it takes one after another."""
CAPS = {
    "max_parallel_per_session": MOST,
    "max_parallel_total": MOST,
    "starts_per_turn": MOST,
    # the tool is let through by the filter that tasks have by default
    "task": {"max_tasks_per_call": MOST, "readonly_extra": [LOOKUP]},
}
"""How this plugin is configured: no task stands in a line."""
_SECONDS = 120.0
"""The most that one turn may take."""

type _Work = Callable[[int], Awaitable[Sample]]


async def run(
    bot: Bot, model_url: str, *, delay: float, times: int, sizes: Sequence[int] = SIZES
) -> list[Figure]:
    """Measure all subjects side by side.

    Args:
        bot: The running AstrBot.
        model_url: Where its model is.
        delay: Seconds of each model call of a task.
        times: How many samples of each are taken.
        sizes: How many tasks are in a call.
    """
    floor = Floor(model_url)
    event, opening = await overheard(bot)

    async def plugin(n: int) -> Sample:
        return await call_of_tasks(bot, n)

    async def astrbot(n: int) -> Sample:
        calls = [[f"transfer_to_{STATIC}", {"input": text}] for text in task_texts(n)]
        return await one_turn(bot, calls, FOUND, results=n)

    async def bound(n: int) -> Sample:
        return await sample(lambda: bare_runs(bot, event, opening, n))

    async def without_guard(n: int) -> Sample:
        return await sample(lambda: bare_runs(bot, event, unguarded(bot, opening), n))

    async def bare_calls(n: int) -> Sample:
        return await sample(lambda: asyncio.gather(*(floor.run(text) for text in task_texts(n))))

    works = {
        "plugin": plugin,
        "bound": bound,
        "unguarded": without_guard,
        "floor": bare_calls,
        "astrbot": astrbot,
    }
    found: list[Figure] = []
    try:
        for n in sizes:
            chosen = {name: work for name, work in works.items() if _is_measured(name, n)}
            samples = await _in_turns(bot, chosen, n=n, times=times)
            found += _figures(n, samples, delay)
    finally:
        await floor.close()
    return found + _extrapolated(found, sizes)


def _is_measured(subject: str, n: int) -> bool:
    return subject != "astrbot" or n <= max(ONE_BY_ONE)


async def call_of_tasks(bot: Bot, n: int) -> Sample:
    """One call of `task` with so many tasks."""
    calls = [["task", {"tasks": [{"task": text} for text in task_texts(n)]}]]
    # of very many results a reply holds no more than where they are
    return await one_turn(bot, calls, f"{n} of {n} tasks completed.", results=1)


async def overheard(bot: Bot) -> tuple[Any, Opening]:
    """The event of a turn with one task, and what that task's child was sent first."""
    listener = OpeningListener(bot, TASK_MARK)
    try:
        message = json.dumps([[["task", {"task": TASK_MARK}]]])
        turn = await bot.say(message, session="bench_tasks")
    finally:
        opening = listener.stop()
    return turn.event, opening


def task_texts(n: int) -> list[str]:
    """What so many tasks say."""
    return [f"{TASK_MARK} {number}" for number in range(n)]


async def one_turn(bot: Bot, calls: list[list[Any]], expected: str, *, results: int) -> Sample:
    """One user message that has these tool calls made in one answer.

    Args:
        bot: The running AstrBot.
        calls: The names and arguments.
        expected: What tells in the replies that a task was done.
        results: How often it must be there.
    """
    turn = await bot.post(json.dumps([calls]), session="bench_tasks").done(_SECONDS)
    stamps = turn.event.get_extra(STAMPS)
    found = sum(text.count(expected) for _, _, text in stamps)
    assert found == results, f"{found} results of {results}"
    (began, cpu_began, _), (ended, cpu_ended, _) = stamps[0], stamps[-1]
    return Sample(wall_seconds=ended - began, cpu_seconds=cpu_ended - cpu_began)


async def bare_runs(bot: Bot, event: Any, opening: Opening, n: int) -> None:
    """The same runs with AstrBot's own runner and nothing else."""
    answers = await asyncio.gather(*(bare_run(bot, event, opening) for _ in range(n)))
    assert answers == [FOUND] * n


async def _in_turns(
    bot: Bot, works: Mapping[str, _Work], *, n: int, times: int
) -> dict[str, list[Sample]]:
    """Samples of all subjects; each round has an order of its own."""
    samples: dict[str, list[Sample]] = {name: [] for name in works}
    for name in works:
        if name != "astrbot":
            await works[name](n)  # the first time fills caches
    names = list(works)
    for number in range(times):
        # a growing history would soon be all that is measured
        await bot.say("/new", session="bench_tasks")
        random.Random(number).shuffle(names)
        for name in names:
            # what a subject leaves behind is not to be cleared away in the time of the next
            gc.collect()
            samples[name].append(await works[name](n))
    return samples


def _figures(n: int, samples: Mapping[str, Sequence[Sample]], delay: float) -> list[Figure]:
    found: list[Figure] = []
    for subject, taken in samples.items():
        found += figures("W2", subject, n=n, samples=taken, ideal_seconds=CHILD_CALLS * delay)
        walls = [each.wall_seconds for each in taken]
        # of one round, so that both saw the same machine
        pairs = zip(walls, (each.wall_seconds for each in samples["bound"]), strict=True)
        found += [
            _figure(subject, n, "ms_min", min(walls) * 1000),
            _figure(subject, n, "ms_max", max(walls) * 1000),
            _figure(subject, n, "to_bound", statistics.median(own / least for own, least in pairs)),
        ]
    return found


def _extrapolated(measured: Sequence[Figure], sizes: Sequence[int]) -> list[Figure]:
    """`astrbot` where it was not measured, since that would take minutes."""
    taken = {each.n: each.value for each in measured if _is_time_of_astrbot(each)}
    few, many = ONE_BY_ONE
    if few not in taken or many not in taken:
        return []
    each = (taken[many] - taken[few]) / (many - few)
    return [
        _figure("astrbot_by_line", n, "ms_median", taken[few] + each * (n - few))
        for n in sizes
        if n not in taken
    ]


def _is_time_of_astrbot(figure: Figure) -> bool:
    return figure.subject == "astrbot" and figure.metric == "ms_median"


def _figure(subject: str, n: int, metric: str, value: float) -> Figure:
    return Figure(workload="W2", subject=subject, n=n, metric=metric, value=round(value, 3))
