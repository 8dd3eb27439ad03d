"""The agents of a session for reading: in memory where it is loaded, else as the store has them.

A look never opens a session; static agents are added as the session's next turn would set them.
"""

from collections.abc import Iterable, Sequence

from ..manager.errors import AgentNotFound
from ..manager.models import (
    UNFINISHED,
    AgentKind,
    OwnerId,
    Run,
    RunState,
    SessionId,
    SubAgentConfig,
)
from ..manager.names import name_key
from ..manager.static_agents import static_configs
from ..manager.store.protocol_pages import RunSearch
from .dashboard import Dashboard
from .replies import AgentCard
from .standing import as_they_stand

_NEWEST = 50
"""Runs among which the names of owners are looked for."""


async def agents_of(dashboard: Dashboard, session: SessionId) -> list[SubAgentConfig]:
    """All agents of a session, static ones first."""
    rows = await dashboard.services.store.load_agents(session)
    if (manager := dashboard.sessions.loaded(session)) is not None:
        now = manager.agents()
        # one of them in memory is newer than its row
        rows = [each for each in rows if each.kind is AgentKind.STATIC] + now
    dynamic = [each for each in rows if each.kind is AgentKind.DYNAMIC]
    taken = {name_key(each.name) for each in dynamic}
    static = static_configs(
        dashboard.static_agents(),
        {name_key(each.name): each for each in rows if each.kind is AgentKind.STATIC},
        session=session,
        now=dashboard.started_at,
    )
    return [*(each for each in static if name_key(each.name) not in taken), *dynamic]


async def agent_of(dashboard: Dashboard, session: SessionId, name: str) -> SubAgentConfig:
    """One agent of a session.

    Raises:
        AgentNotFound: There is none of that name.
    """
    agents = await agents_of(dashboard, session)
    for each in agents:
        if name_key(each.name) == name_key(name):
            return each
    raise AgentNotFound(name, [each.name for each in agents])


async def agent_cards(
    dashboard: Dashboard, session: SessionId, agents: Sequence[SubAgentConfig]
) -> list[AgentCard]:
    """These agents of a session, with what they are doing."""
    store = dashboard.services.store
    live = await live_runs(dashboard, session)
    counts = await store.count_messages([each.conversation for each in agents])
    newest = await store.pages.run_page(RunSearch(session=session), offset=0, limit=_NEWEST)
    names = _names_of_owners([*reversed(newest.items), *live])
    return [
        _card(each, live, names.get(each.owner), counts.get(each.conversation, 0))
        for each in agents
    ]


async def live_runs(dashboard: Dashboard, session: SessionId) -> list[Run]:
    """The unfinished runs of a session, as they stand."""
    if (manager := dashboard.sessions.loaded(session)) is not None:
        return manager.runs.live()
    store = dashboard.services.store
    return await as_they_stand(
        dashboard, await store.list_runs(session, states=UNFINISHED, limit=1_000)
    )


def _names_of_owners(runs: Iterable[Run]) -> dict[OwnerId, str]:
    return {run.owner: run.origin.sender_name for run in runs if run.origin.sender_name}


def _card(
    config: SubAgentConfig, live: Sequence[Run], owner_name: str | None, memory_messages: int
) -> AgentCard:
    mine = [run for run in live if run.agent and name_key(run.agent) == name_key(config.name)]
    states = {run.state for run in mine}
    return AgentCard(
        name=config.name,
        kind=config.kind,
        protected=config.protected,
        owner=config.owner,
        owner_name=owner_name,
        description=config.description,
        system_prompt=config.system_prompt,
        tools=None if config.tools is None else list(config.tools),
        skills=None if config.skills is None else list(config.skills),
        provider_id=config.provider_id,
        workdir=config.workdir,
        persona_id=config.persona_id,
        status=next(
            (state for state in ("running", "waiting", "queued") if RunState(state) in states),
            "idle",
        ),
        running=[run.run_id for run in mine if run.state is not RunState.QUEUED],
        queued=[run.run_id for run in mine if run.state is RunState.QUEUED],
        memory_messages=memory_messages,
        created_at=config.created_at,
        editable=config.kind is AgentKind.DYNAMIC,
    )
