"""Settings, static agents, and what agents can be made of."""

import re
from collections.abc import Mapping
from dataclasses import asdict

from pydantic import JsonValue

from ..manager.models import SessionId
from ..manager.tool_filter import BUILT_IN_FILTERS
from .asks import Asks, CatalogAsks, SaveSettingsAsks, SaveStaticAgentsAsks
from .dashboard import Dashboard
from .ports import InvalidSettings
from .replies_pages import (
    Choices,
    ProviderChoice,
    SettingProblem,
    SettingsPage,
    StaticAgentsPage,
    ToolChoice,
    form,
)

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_LEVELS_AT_MOST = 8
_WHAT_FITS = "It takes texts without NUL characters and halves of surrogate pairs."


async def settings(dashboard: Dashboard, asked: Asks) -> SettingsPage:
    """All settings, and what forms are made of."""
    desk = dashboard.settings
    return SettingsPage(
        values=dict(desk.values()),
        forms=[form(each) for each in desk.schema()],
        problems=[SettingProblem(key=key, text=text) for key, text in desk.problems()],
        restart_needed=list(desk.restart_needed()),
        revision=desk.revision(),
    )


async def save_settings(dashboard: Dashboard, asked: SaveSettingsAsks) -> SettingsPage:
    """Change some settings, all or none.

    Raises:
        InvalidSettings: A value may not be.
        SettingsChanged: Somebody else has saved since.
        SettingsNotSaved: They could not be written.
    """
    _check_texts(asked.values)
    dashboard.settings.save(asked.values, seen=asked.revision)
    return await settings(dashboard, Asks())


async def static_agents(dashboard: Dashboard, asked: Asks) -> StaticAgentsPage:
    """The configured static agents, and those of the platform."""
    desk = dashboard.settings
    return StaticAgentsPage(
        items=[dict(each) for each in desk.static_agents()],
        core=[asdict(each) for each in dashboard.catalog.core_agents()],
        forms=[form(each) for each in desk.static_schema()],
        problems=[SettingProblem(key=key, text=text) for key, text in desk.static_problems()],
        revision=desk.static_revision(),
    )


async def save_static_agents(dashboard: Dashboard, asked: SaveStaticAgentsAsks) -> StaticAgentsPage:
    """Let these be the configured static agents, all or none.

    Raises:
        InvalidSettings: Its keys are `items.<index>.<key>`.
        SettingsChanged: Somebody else has saved since.
        SettingsNotSaved: They could not be written.
    """
    _check_texts(
        {
            f"items.{index}.{key}": value
            for index, item in enumerate(asked.items)
            for key, value in item.items()
        }
    )
    dashboard.settings.save_static(asked.items, seen=asked.revision)
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


def _check_texts(values: Mapping[str, JsonValue]) -> None:
    """Refuse what a file or a model does not take, wherever in a value it is."""
    problems = ((key, _problem_of(value)) for key, value in values.items())
    if wrong := {key: problem for key, problem in problems if problem}:
        raise InvalidSettings(wrong)


def _problem_of(value: JsonValue) -> str:
    level: list[JsonValue] = [value]
    for _ in range(_LEVELS_AT_MOST):
        below: list[JsonValue] = []
        for each in level:
            match each:
                case str() if _UNFIT.search(each):
                    return _WHAT_FITS
                case list():
                    below.extend(each)
                case dict():
                    below.extend((*each, *each.values()))
        if not below:
            return ""
        level = below
    return f"It takes {_LEVELS_AT_MOST} levels of lists and groups at most."
