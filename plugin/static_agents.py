"""The static agents of a chat: the plugin's own and those of AstrBot that are taken over.

They are looked up anew each time, so that a change in either configuration counts at the next turn.
What a session keeps of them is the core's business.
"""

from collections.abc import Callable, Iterable

from astrbot.api import FunctionTool, logger
from astrbot.api.star import Context
from astrbot.core.agent.handoff import HandoffTool

from ..manager import Sessions, Settings
from ..manager.events import Event, EventBus, RunChanged
from ..manager.names import name_key, transfer_tool_name
from ..manager.settings import StaticAgentSettings
from .core_agents import core_agents
from .persona import find_persona


class StaticAgents:
    """Says which static agents there are now."""

    def __init__(self, context: Context, settings: Callable[[], Settings]) -> None:
        self._context = context
        self._settings = settings
        self._told: set[str] = set()

    def all(self) -> list[StaticAgentSettings]:
        """The static agents, the plugin's own first; of two with one name the first counts."""
        settings, of_core = self._settings(), self.of_core()
        if settings.manage_core_subagents:
            return [*settings.static_agents, *of_core]
        taken = {name_key(agent.name) for agent in of_core}
        free = []
        for agent in settings.static_agents:
            if name_key(agent.name) in taken:
                self._tell_once(agent.name)
            else:
                free.append(agent)
        return free

    def taken_over(self, tools: Iterable[FunctionTool]) -> frozenset[str]:
        """Names of AstrBot's own hand-offs in whose place our tools stand."""
        if not self._settings().manage_core_subagents:
            return frozenset()
        hand_offs = [tool for tool in tools if isinstance(tool, HandoffTool)]
        if not hand_offs:
            return frozenset()
        of_core = {agent.name for agent in self.of_core()}
        ours: dict[str, str] = {}
        for agent in self.all():
            if agent.enabled:
                ours.setdefault(name_key(agent.name), transfer_tool_name(agent.name))
        replaced = set(ours.values())
        return frozenset(
            tool.name for tool in hand_offs if tool.name in replaced and tool.agent.name in of_core
        )

    def of_core(self) -> tuple[StaticAgentSettings, ...]:
        """AstrBot's own, as AstrBot offers them now."""
        if self._context.subagent_orchestrator is None:
            return ()
        section = self._context.get_config().get("subagent_orchestrator")
        return core_agents(section, lambda persona_id: find_persona(self._context, persona_id))

    def _tell_once(self, name: str) -> None:
        if name not in self._told:
            self._told.add(name)
            logger.warning(
                "The sub-agent %r of `static_agents` is left out: AstrBot has one of this name, "
                "and `manage_core_subagents` is off.",
                name,
            )


class TakenUpRuns:
    """Gives a session its static agents when it takes up their runs after a reload.

    Otherwise a turn does so, and there is none yet.
    """

    def __init__(self, static: StaticAgents, sessions: Sessions, bus: EventBus) -> None:
        self._static = static
        self._sessions = sessions
        self._unsubscribe = bus.subscribe(self._look_at)

    def close(self) -> None:
        """Look no longer."""
        self._unsubscribe()

    def _look_at(self, happened: Event) -> None:
        # one that is executed here at once, or elsewhere, is never told as queued
        if not isinstance(happened, RunChanged) or happened.run.is_over:
            return
        manager = self._sessions.loaded(happened.session)
        if manager is not None and happened.run.agent not in {
            agent.name for agent in manager.agents()
        }:
            manager.set_static(self._static.all())
