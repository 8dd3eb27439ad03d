"""What the dashboard can choose from when an agent is made: tools, skills, models and personas.

All is looked up anew each time.
"""

from collections.abc import Callable

from astrbot.api.star import Context

from ..manager import SessionId, Settings
from ..manager.settings import StaticAgentSettings
from .catalog import AstrBotCatalog
from .child_provider import provider_id
from .host_tools import HostTools
from .persona import persona_ids
from .static_agents import StaticAgents


class AstrBotChoices:
    """See `Catalog`."""

    def __init__(
        self, context: Context, host: AstrBotCatalog, settings: Callable[[], Settings]
    ) -> None:
        self._context = context
        self._host = host
        self._tools = HostTools(context)
        self._static = StaticAgents(context, settings)
        self._settings = settings

    def tools(self, session: SessionId | None) -> list[tuple[str, str]]:
        """See `Catalog.tools`."""
        denied = frozenset(self._settings().dynamic_agents.tools_blacklist)
        return sorted(
            (name, str(tool.description or ""))
            for name, tool in self._tools.all(session).items()
            if name not in denied
        )

    def skills(self, session: SessionId | None) -> list[str]:
        """See `Catalog.skills`."""
        return sorted(self._host.skills_of(session))

    def providers(self) -> list[tuple[str, str]]:
        """See `Catalog.providers`."""
        return [
            (provider_id(each), str(each.get_model() or ""))
            for each in self._context.get_all_providers()
        ]

    def personas(self) -> list[str]:
        """See `Catalog.personas`."""
        return sorted(persona_ids(self._context))

    def core_agents(self) -> list[StaticAgentSettings]:
        """See `Catalog.core_agents`."""
        return list(self._static.of_core())
