"""The bot at a glance."""

import math
from datetime import timedelta

from ..manager.models import Run, RunState
from ..manager.runs.budget import day_start
from ..manager.store.protocol_pages import RunSearch, StoreCounts
from .asks import Asks
from .dashboard import Dashboard
from .replies_pages import Limits, Overview, StoreFacts, Today, Totals
from .shaping import usage_reply
from .standing import place_in_line, run_rows, unfinished

_MOST = 50
_FAILURES = 20
_AT_WORK = (RunState.RUNNING, RunState.WAITING)
_FAILED = (RunState.FAILED, RunState.TIMED_OUT)
_LOOKED_AT = 200
"""Queued runs of other processes among which the next ones are looked for."""


async def overview(dashboard: Dashboard, asked: Asks) -> Overview:
    """What there is, what is at work, and what went wrong."""
    store, now = dashboard.services.store, dashboard.now
    # first, so that the stream tells of all that this reply does not show
    last_event_id = await store.last_event_id()
    counts = await store.pages.store_counts(day=day_start(now))
    failed = await store.pages.run_page(
        RunSearch(states=_FAILED, finished_since=now - timedelta(days=1)),
        offset=0,
        limit=_FAILURES,
    )
    settings = dashboard.services.settings()
    return Overview(
        version=dashboard.version,
        started_at=dashboard.started_at,
        totals=_totals(counts),
        today=Today(runs=counts.runs, usage=usage_reply(counts.usage)),
        limits=Limits(
            max_parallel_per_session=settings.max_parallel_per_session,
            max_parallel_total=settings.max_parallel_total,
        ),
        live=await run_rows(dashboard, await _at_work(dashboard)),
        queue=await run_rows(dashboard, await _in_line(dashboard)),
        failures=await run_rows(dashboard, failed.items),
        store=StoreFacts(kind=dashboard.store_kind, last_event_id=last_event_id),
    )


def _totals(counts: StoreCounts) -> Totals:
    return Totals(
        sessions=counts.sessions,
        agents=counts.agents,
        running=counts.states.get(RunState.RUNNING, 0),
        queued=counts.states.get(RunState.QUEUED, 0),
        waiting=counts.states.get(RunState.WAITING, 0),
        finished_today=counts.ended.get(RunState.COMPLETED, 0),
        failed_today=sum(counts.ended.get(state, 0) for state in _FAILED),
    )


async def _at_work(dashboard: Dashboard) -> list[Run]:
    runs = await unfinished(dashboard, _AT_WORK, most=_MOST)
    return sorted(runs, key=lambda run: (run.created_at, run.run_id), reverse=True)[:_MOST]


async def _in_line(dashboard: Dashboard) -> list[Run]:
    runs = await unfinished(dashboard, (RunState.QUEUED,), most=_LOOKED_AT)
    # the line is first in, first out; what comes back from a question stands ahead
    runs = sorted(runs, key=lambda run: (run.created_at, run.run_id))[:_LOOKED_AT]
    places = {run.run_id: place_in_line(dashboard, run) for run in runs}
    # what waits for another task does not stand in the line yet
    return sorted(runs, key=lambda run: places[run.run_id] or math.inf)[:_MOST]
