"""Runs: lists of them, and one as a whole."""

from ..manager.models import GroupId, Run, SessionId
from ..manager.store.protocol_pages import RunSearch
from .asks import RunAsks, RunsAsks
from .dashboard import Dashboard
from .replies import RunDetail, RunList, RunRow
from .shaping_runs import run_detail
from .standing import deliveries, find_run, place_in_line, run_rows


async def runs(dashboard: Dashboard, asked: RunsAsks) -> RunList:
    """Runs of all sessions, or of one, newest first."""
    search = RunSearch(
        session=SessionId(asked.session) if asked.session is not None else None,
        agent=asked.agent,
        states=asked.state,
        kind=asked.kind,
        group=GroupId(asked.group) if asked.group is not None else None,
        text=asked.query,
        since=asked.since,
    )
    page = await dashboard.services.store.pages.run_page(
        search, offset=asked.offset, limit=asked.limit
    )
    return RunList(items=await run_rows(dashboard, page.items), total=page.total)


async def run(dashboard: Dashboard, asked: RunAsks) -> RunDetail:
    """One run."""
    return await detail(dashboard, await find_run(dashboard, asked.session, asked.run_id))


async def detail(dashboard: Dashboard, found: Run) -> RunDetail:
    """A run as it stands, with what may be done to it."""
    delivery = await deliveries(dashboard, [found])
    return run_detail(
        found,
        delivery=delivery.get(found.run_id),
        position=place_in_line(dashboard, found),
        max_steps=dashboard.services.settings().max_steps,
    )


async def row(dashboard: Dashboard, found: Run) -> RunRow:
    """A run as lists show it."""
    (reply,) = await run_rows(dashboard, [found])
    return reply
