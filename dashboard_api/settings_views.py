"""Settings, static agents, and what agents can be made of."""

from dataclasses import asdict

from ..manager.models import SessionId
from ..manager.tool_filter import BUILT_IN_FILTERS
from .asks import Asks, CatalogAsks, SaveSettingsAsks, SaveStaticAgentsAsks
from .dashboard import Dashboard
from .replies_pages import (
    Choices,
    ProviderChoice,
    SettingProblem,
    SettingsPage,
    StaticAgentsPage,
    ToolChoice,
    form,
)


async def settings(dashboard: Dashboard, asked: Asks) -> SettingsPage:
    """All settings, and what forms are made of."""
    desk = dashboard.settings
    return SettingsPage(
        values=dict(desk.values()),
        forms=[form(each) for each in desk.schema()],
        problems=[SettingProblem(key=key, text=text) for key, text in desk.problems()],
        restart_needed=list(desk.restart_needed()),
    )


async def save_settings(dashboard: Dashboard, asked: SaveSettingsAsks) -> SettingsPage:
    """Change some settings, all or none."""
    dashboard.settings.save(asked.values)
    return await settings(dashboard, Asks())


async def static_agents(dashboard: Dashboard, asked: Asks) -> StaticAgentsPage:
    """The configured static agents, and those of the platform."""
    desk = dashboard.settings
    return StaticAgentsPage(
        items=[dict(each) for each in desk.static_agents()],
        core=[asdict(each) for each in dashboard.catalog.core_agents()],
        forms=[form(each) for each in desk.static_schema()],
    )


async def save_static_agents(dashboard: Dashboard, asked: SaveStaticAgentsAsks) -> StaticAgentsPage:
    """Let these be the configured static agents, all or none."""
    dashboard.settings.save_static(asked.items)
    return await static_agents(dashboard, Asks())


async def catalog(dashboard: Dashboard, asked: CatalogAsks) -> Choices:
    """What agents can be made of."""
    session = SessionId(asked.session) if asked.session is not None else None
    there, task = dashboard.catalog, dashboard.services.settings().task
    return Choices(
        tools=[ToolChoice(name=name, description=text) for name, text in there.tools(session)],
        skills=list(there.skills(session)),
        providers=[ProviderChoice(id=each, model=model) for each, model in there.providers()],
        personas=list(there.personas()),
        filters=[*BUILT_IN_FILTERS, *(each.name for each in task.custom_filters)],
    )
