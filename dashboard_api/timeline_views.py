"""The timeline of a session: its runs as bars, with the times they waited for an answer."""

from collections.abc import Iterable
from datetime import datetime

from ..manager.models import UNFINISHED, Run, RunId, RunState, SessionId
from ..manager.store.protocol import Store
from ..manager.store.protocol_pages import RunSearch
from ..manager.stored_event import StoredEvent
from .asks import TimelineAsks
from .dashboard import Dashboard
from .replies_pages import Timeline, TimelineRun
from .standing import as_they_stand
from .steps import events_of_run

_NEWEST = 200
"""Runs that are shown when no time is given."""
_MOST = 500
_BEGINNING = 80
_ASKING = "ask_question"
"""The tool by which a child asks."""

type Wait = tuple[datetime, datetime | None]


async def timeline(dashboard: Dashboard, asked: TimelineAsks) -> Timeline:
    """The runs that were under way in some time; without one the newest runs."""
    session = SessionId(asked.session)
    await dashboard.check_session(session)
    store, now = dashboard.services.store, dashboard.now
    found = await _found(store, session, asked.since)
    runs = [
        run
        for run in await as_they_stand(dashboard, found)
        if asked.until is None or run.created_at <= asked.until
    ]
    runs.sort(key=lambda run: (run.created_at, run.run_id))
    return Timeline(items=[_bar(run, await _waits(store, run)) for run in runs], now=now)


async def _found(store: Store, session: SessionId, since: datetime | None) -> list[Run]:
    if since is None:
        page = await store.pages.run_page(RunSearch(session=session), offset=0, limit=_NEWEST)
        return list(page.items)
    searches = (
        RunSearch(session=session, since=since),
        RunSearch(session=session, finished_since=since),
        RunSearch(session=session, states=UNFINISHED),
    )
    found: dict[RunId, Run] = {}
    for search in searches:
        page = await store.pages.run_page(search, offset=0, limit=_MOST)
        found |= {run.run_id: run for run in page.items}
    return list(found.values())


async def _waits(store: Store, run: Run) -> list[Wait]:
    if not (run.question or any(use.name == _ASKING for use in run.tools_used)):
        return []
    return waits_of(await events_of_run(store, run.run_id))


def waits_of(events: Iterable[StoredEvent]) -> list[Wait]:
    """When a run waited for an answer, as far as its events are kept."""
    waits: list[Wait] = []
    for event in events:
        if event.kind != "run.changed":
            continue
        is_open = bool(waits) and waits[-1][1] is None
        is_waiting = event.payload.get("state") == RunState.WAITING
        if is_waiting and not is_open:
            waits.append((event.at, None))
        elif is_open and not is_waiting:
            waits[-1] = (waits[-1][0], event.at)
    return waits


def _bar(run: Run, waits: list[Wait]) -> TimelineRun:
    return TimelineRun(
        run_id=run.run_id,
        agent=run.agent,
        kind=run.kind,
        state=run.state,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        waits=waits,
        depends_on=list(run.depends_on),
        group_id=run.group_id,
        input=run.input[:_BEGINNING],
    )
