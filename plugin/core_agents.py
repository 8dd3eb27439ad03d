"""AstrBot's own static sub-agents, read from its configuration as AstrBot reads them.

It only reads: what is taken over, and how, is decided in `static_agents.py`. Nothing here knows
AstrBot, so that it can be tested without one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..manager.models import Persona
from ..manager.settings import StaticAgentSettings

_DESCRIPTION_FROM_PERSONA = 120
"""Characters of a persona's instructions that describe an agent without a description."""


def core_agents(
    section: object, find_persona: Callable[[str], Persona | None]
) -> tuple[StaticAgentSettings, ...]:
    """Read the section `subagent_orchestrator`.

    Args:
        section: As AstrBot's configuration holds it; anything a person may have written.
        find_persona: Looks a persona up by its id.

    Returns:
        The agents that AstrBot offers to the main agent; names may be anything but empty.
    """
    # As `reload_from_config` in AstrBot's core/subagent_orchestrator.py reads it.
    if not isinstance(section, Mapping) or not section.get("main_enable", False):
        return ()
    items = section.get("agents")
    agents: dict[str, StaticAgentSettings] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping) and item.get("enabled", True) and _text(item, "name"):
            # of two with the same name AstrBot's tool set keeps the later one
            agents[_text(item, "name")] = _agent(item, find_persona)
    return tuple(agents.values())


def _agent(
    item: Mapping[str, Any], find_persona: Callable[[str], Persona | None]
) -> StaticAgentSettings:
    persona_id = _text(item, "persona_id")
    persona = find_persona(persona_id) if persona_id else None
    if persona is None or not persona.instructions:
        described = ""
    else:
        described = persona.instructions[:_DESCRIPTION_FROM_PERSONA]
    return StaticAgentSettings(
        name=_text(item, "name"),
        description=_text(item, "public_description") or described,
        system_prompt=_text(item, "system_prompt"),
        persona_id=persona_id,
        tools=_tools(item.get("tools", [])),
        provider_id=_text(item, "provider_id"),
    )


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return "" if value is None else str(value).strip()


def _tools(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    tools = value if isinstance(value, list) else ()
    return tuple(name for each in tools if (name := str(each).strip()))
