"""Sessions: the list of all, and one with its agents, switches and limits."""

from ..manager.models import AgentKind, RunState, SessionId, SharedEntry
from ..manager.runs.budget import day_start
from .asks import SessionAsks, SessionsAsks
from .dashboard import Dashboard, unknown_session
from .replies import SessionList
from .replies_pages import BoardSwitch, MemorySwitch, SessionLimits, SessionPage, Switches
from .session_agents import agent_cards, agents_of
from .shaping import session_row


async def sessions(dashboard: Dashboard, asked: SessionsAsks) -> SessionList:
    """Sessions, the most recently active first."""
    page = await dashboard.services.store.pages.session_page(
        text=asked.query,
        only=asked.only,
        day=day_start(dashboard.now),
        offset=asked.offset,
        limit=asked.limit,
    )
    return SessionList(items=[session_row(each) for each in page.items], total=page.total)


async def session(dashboard: Dashboard, asked: SessionAsks) -> SessionPage:
    """One session."""
    session_id = SessionId(asked.session)
    summary = await dashboard.services.store.pages.session_summary(
        session_id, day=day_start(dashboard.now)
    )
    if summary is None:
        raise unknown_session()
    agents = await agents_of(dashboard, session_id)
    dynamic = [each for each in agents if each.kind is AgentKind.DYNAMIC]
    now = await switches(dashboard, session_id)
    return SessionPage(
        session=session_row(summary),
        agents=await agent_cards(dashboard, session_id, agents),
        limits=_limits(dashboard, session_id, len(dynamic)),
        memory=now.memory,
        board=now.board,
    )


async def switches(dashboard: Dashboard, session_id: SessionId) -> Switches:
    """What a session switches by itself."""
    settings = dashboard.services.settings()
    record = await dashboard.services.store.load_session(session_id)
    memory = record.memory_enabled if record is not None else None
    board = record.board_enabled if record is not None else None
    return Switches(
        memory=MemorySwitch(on=settings.history_enabled if memory is None else memory, own=memory),
        board=BoardSwitch(
            on=settings.shared_context_enabled if board is None else board,
            own=board,
            notes=len(await notes_of(dashboard, session_id)),
        ),
    )


async def notes_of(dashboard: Dashboard, session_id: SessionId) -> list[SharedEntry]:
    """The notes of a session's board, oldest first."""
    if (manager := dashboard.sessions.loaded(session_id)) is not None:
        await manager.notes.catch_up()
        return list(manager.notes.entries())
    return await dashboard.services.store.load_shared_entries(session_id)


def _limits(dashboard: Dashboard, session_id: SessionId, dynamic: int) -> SessionLimits:
    settings = dashboard.services.settings()
    most = settings.dynamic_agents.max_dynamic_subagent_count
    manager = dashboard.sessions.loaded(session_id)
    return SessionLimits(
        max_dynamic_subagent_count=most,
        free_agents=max(0, most - dynamic),
        max_parallel_per_session=settings.max_parallel_per_session,
        free_places=_free_places(dashboard) if manager is None else manager.runs.free_places(),
    )


def _free_places(dashboard: Dashboard) -> int:
    """How many runs could start in a session where nothing is at work."""
    settings = dashboard.services.settings()
    at_work = sum(
        run.state is RunState.RUNNING
        for manager in dashboard.sessions.all_loaded()
        for run in manager.runs.live()
    )
    return max(0, min(settings.max_parallel_per_session, settings.max_parallel_total - at_work))
