"""What the main agent keeps of AstrBot's tools when static agents have the same ones.

This is the setting `remove_main_duplicate_tools`; children get the tools all the same.
"""

from collections.abc import Callable, Iterable

from ..manager import AgentKind, SubAgentConfig
from ..manager.models import Persona
from ..manager.settings import MANAGEMENT_TOOLS
from .config_values import ALL

type FindPersona = Callable[[str], Persona | None]


def duplicate_tools(
    agents: Iterable[SubAgentConfig],
    find_persona: FindPersona,
    *,
    denied: Iterable[str],
    main_persona: str,
) -> frozenset[str]:
    """Names of the tools to hide from the main agent.

    Args:
        agents: Those that the turn may use.
        find_persona: Looks a persona of the bot up by its id.
        denied: Tools that no child gets, so that hiding them would take them from everyone.
        main_persona: The id of the main agent's persona, "" for none; what it lists by name stays.
    """
    named: set[str] = set()
    for agent in agents:
        if agent.kind is AgentKind.STATIC:
            named.update(_tools(agent, find_persona) or ())
    of_main = find_persona(main_persona) if main_persona else None
    listed = (of_main.tools or ()) if of_main is not None else ()
    return frozenset(named.difference({ALL}, denied, listed, MANAGEMENT_TOOLS))


def _tools(agent: SubAgentConfig, find_persona: FindPersona) -> tuple[str, ...] | None:
    persona = find_persona(agent.persona_id) if agent.persona_id else None
    return agent.tools if persona is None else persona.tools
