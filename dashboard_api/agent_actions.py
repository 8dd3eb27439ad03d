"""What is done to agents from the page."""

from ..manager.agents import AgentChanges, NewAgent
from ..manager.manager import SubAgentManager
from ..manager.models import SubAgentConfig
from .asks import AgentAsks, AgentChangeAsks, NewAgentAsks, ProtectAsks
from .dashboard import PAGE, Dashboard, page_turn
from .replies import AgentCard, Reply
from .session_agents import agent_cards


async def create(dashboard: Dashboard, asked: NewAgentAsks) -> AgentCard:
    """Make a dynamic agent that belongs to the bot."""
    manager = await dashboard.manager(asked.session)
    new = NewAgent(
        name=asked.name,
        system_prompt=asked.system_prompt,
        description=asked.description,
        tools=tuple(asked.tools),
        skills=tuple(asked.skills),
        provider_id=asked.provider_id,
        workdir=asked.workdir,
        protected=asked.protected,
        replaces=False,
    )
    return await _card(dashboard, manager, await manager.create(new, page_turn(manager.session)))


async def edit(dashboard: Dashboard, asked: AgentChangeAsks) -> AgentCard:
    """Change an agent; its memory and its owner stay."""
    manager = await dashboard.manager(asked.session)
    changes = AgentChanges(
        system_prompt=asked.system_prompt,
        description=asked.description,
        tools=None if asked.tools is None else tuple(asked.tools),
        skills=None if asked.skills is None else tuple(asked.skills),
        provider_id=asked.provider_id,
        workdir=asked.workdir,
    )
    return await _card(
        dashboard,
        manager,
        await manager.steering.edit(asked.name, changes, page_turn(manager.session)),
    )


async def protect(dashboard: Dashboard, asked: ProtectAsks) -> AgentCard:
    """Let an agent outlive its turn, or not."""
    manager = await dashboard.manager(asked.session)
    change = manager.protect if asked.protected else manager.unprotect
    return await _card(dashboard, manager, await change(asked.name, PAGE))


async def reset(dashboard: Dashboard, asked: AgentAsks) -> AgentCard:
    """Forget an agent's memory."""
    manager = await dashboard.manager(asked.session)
    return await _card(dashboard, manager, await manager.reset(asked.name, PAGE))


async def remove(dashboard: Dashboard, asked: AgentAsks) -> Reply:
    """Remove an agent; the results of its runs stay."""
    manager = await dashboard.manager(asked.session)
    await manager.remove(asked.name, PAGE)
    return Reply()


async def _card(
    dashboard: Dashboard, manager: SubAgentManager, config: SubAgentConfig
) -> AgentCard:
    (card,) = await agent_cards(dashboard, manager.session, [config])
    return card
