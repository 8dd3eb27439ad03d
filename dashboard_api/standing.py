"""Runs as they stand: in memory where their session is loaded, else as the store has them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..manager.errors import RunNotFound
from ..manager.models import DeliveryState, Run, RunId, RunState, SessionId
from ..manager.store.protocol_pages import RunSearch
from .dashboard import Dashboard
from .replies import RunRow
from .shaping_runs import run_row


async def find_run(dashboard: Dashboard, session: str, run_id: str) -> Run:
    """One run.

    Raises:
        RunNotFound: There is none of that id in that session.
    """
    session_id = SessionId(session)
    if (manager := dashboard.sessions.loaded(session_id)) is not None:
        return await manager.runs.find(run_id)
    run = await dashboard.services.store.get_run(session_id, RunId(run_id))
    if run is None:
        raise RunNotFound(run_id)
    return run


async def as_they_stand(dashboard: Dashboard, runs: Iterable[Run]) -> list[Run]:
    """The newest record of each of these runs, in their order."""
    live: dict[SessionId, dict[RunId, Run]] = {}
    found = []
    for run in runs:
        manager = dashboard.sessions.loaded(run.session)
        if manager is None or run.is_over:
            found.append(run)
            continue
        if run.session not in live:
            live[run.session] = {each.run_id: each for each in manager.runs.live()}
        newer = live[run.session].get(run.run_id)
        # it may be over by now, and its end not be written
        found.append(newer or await manager.runs.find(run.run_id))
    return found


def place_in_line(dashboard: Dashboard, run: Run) -> int | None:
    """A run's place in the line of this process, from 1; None: it does not stand in it."""
    manager = dashboard.sessions.loaded(run.session)
    if manager is None or run.state is not RunState.QUEUED:
        return None
    return manager.runs.position(run.run_id)


async def run_rows(dashboard: Dashboard, runs: Sequence[Run]) -> list[RunRow]:
    """These runs for a list, as they stand."""
    standing = await as_they_stand(dashboard, runs)
    delivery = await deliveries(dashboard, standing)
    return [
        run_row(run, delivery=delivery.get(run.run_id), position=place_in_line(dashboard, run))
        for run in standing
    ]


async def deliveries(dashboard: Dashboard, runs: Sequence[Run]) -> dict[RunId, DeliveryState]:
    """Where the results of these runs stand; who holds one is known in memory alone."""
    ended = [run.run_id for run in runs if run.is_over]
    found = await dashboard.services.store.pages.deliveries_of(ended) if ended else {}
    by_session: dict[SessionId, set[RunId]] = defaultdict(set)
    for run in runs:
        by_session[run.session].add(run.run_id)
    for session, run_ids in by_session.items():
        if (manager := dashboard.sessions.loaded(session)) is None:
            continue
        for row in manager.runs.results.outbox.open():
            if (run_id := RunId(row.delivery_id)) in run_ids:
                found[run_id] = row.state
    return found


async def unfinished(dashboard: Dashboard, states: Sequence[RunState], *, most: int) -> list[Run]:
    """Unfinished runs in these states, in no order: those in memory, and the store's newest."""
    page = await dashboard.services.store.pages.run_page(
        RunSearch(states=states), offset=0, limit=most
    )
    found = {run.run_id: run for run in await as_they_stand(dashboard, page.items)}
    for manager in dashboard.sessions.all_loaded():
        found |= {run.run_id: run for run in manager.runs.live()}
    return [run for run in found.values() if run.state in states]
