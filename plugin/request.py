"""What the main agent's model request gets from us: live tools, the router prompt, news.

What never changes goes into the system prompt, what changes into temporary parts of the user turn,
so that the provider's prefix cache holds.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from astrbot.api import ToolSet
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Context
from astrbot.core.agent.handoff import HandoffTool
from astrbot.core.agent.message import TextPart

from ..manager.events import AgentChanged, AgentCreated, AgentRemoved, Event, EventBus
from ..subagent_tools import turn_notes
from .main_tools import duplicate_tools
from .persona import find_persona, selected_persona
from .static_agents import StaticAgents
from .tools import ModelTools
from .toolset import LiveToolSet
from .turns import OpenTurn, Turns
from .wake_event import WakeEvent, errand_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestParts:
    """What a request is filled from."""

    turns: Turns
    tools: ModelTools
    static: StaticAgents
    bus: EventBus


class Requests:
    """Fills model requests and keeps their tools in step with the session's agents."""

    def __init__(self, context: Context, parts: RequestParts) -> None:
        self._context = context
        self._turns = parts.turns
        self._tools = parts.tools
        self._static = parts.static
        self._unsubscribe = parts.bus.subscribe(self._follow)

    async def fill(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        """Add ours to the request of an event's turn; without a turn nothing is added.

        Raises:
            SubAgentError: Results could not be collected; the tools are there all the same.
        """
        open_turn = self._turns.of(event)
        if open_turn is None:
            return
        turn, handle = open_turn.turn, open_turn.handle
        taken_over = self._static.taken_over(request.func_tool or ())
        handle.main_tools = _without(request.func_tool, taken_over)
        handle.provider_request = request
        persona = await selected_persona(self._context, event, request)
        turn.origin = replace(turn.origin, persona_id=persona)
        open_turn.manager.set_static(self._static.all())
        request.func_tool = self._tool_set(open_turn)
        ours = open_turn.manager.router_prompt()
        request.system_prompt = _joined(request.system_prompt, ours)
        errand = errand_of(event)
        if errand is not None and open_turn.manager.errands.is_held(errand):
            # its owner has said /stop since it was sent
            return
        notes = await turn_notes(open_turn.manager, turn)
        if isinstance(event, WakeEvent):
            # a message of the user may have come first and taken the results
            event.is_filled = _holds_anything(open_turn)
            notes += event.files_note(open_turn.held())
        if notes:
            request.extra_user_content_parts.append(TextPart(text=notes).mark_as_temp())

    def close(self) -> None:
        """Follow the agents no longer."""
        self._unsubscribe()

    def _tool_set(self, open_turn: OpenTurn) -> LiveToolSet:
        hidden = self._hidden(open_turn)
        theirs = open_turn.handle.main_tools or ()
        tool_set = LiveToolSet(
            tool for tool in theirs if tool.name not in hidden or isinstance(tool, HandoffTool)
        )
        for tool in self._tools.management():
            tool_set.put(tool)
        if not self._is_single(open_turn):
            for config in open_turn.manager.agents(open_turn.turn):
                tool_set.put(self._tools.transfer(config, open_turn.turn.asker.owner))
        open_turn.tool_sets.append(tool_set)
        return tool_set

    def _hidden(self, open_turn: OpenTurn) -> frozenset[str]:
        settings = open_turn.manager.settings
        if not settings.remove_main_duplicate_tools:
            return frozenset()
        return duplicate_tools(
            open_turn.manager.agents(open_turn.turn),
            lambda persona_id: find_persona(self._context, persona_id),
            denied=settings.dynamic_agents.tools_blacklist,
            main_persona=open_turn.turn.origin.persona_id,
        )

    def _follow(self, happened: Event) -> None:
        if not isinstance(happened, AgentCreated | AgentChanged | AgentRemoved):
            return
        for open_turn in self._turns.in_session(happened.session):
            if self._is_single(open_turn):
                continue
            tool = self._tools.transfer(happened.config, open_turn.turn.asker.owner)
            usable = {agent.name for agent in open_turn.manager.agents(open_turn.turn)}
            for tool_set in open_turn.tool_sets:
                if isinstance(happened, AgentRemoved):
                    tool_set.drop(tool.name)
                elif happened.config.name in usable:
                    tool_set.put(tool)

    def _is_single(self, open_turn: OpenTurn) -> bool:
        """Whether one fixed tool reaches all agents, so that the list of tools never changes."""
        return open_turn.manager.settings.dynamic_agents.handoff == "single"


def _without(tools: ToolSet | None, names: Collection[str]) -> ToolSet | None:
    if tools is None or not names:
        return tools
    rest = ToolSet()
    # not by `add_tool`, which checks every schema again
    rest.tools = [tool for tool in tools if tool.name not in names]
    return rest


def _joined(system_prompt: str | None, ours: str) -> str:
    return f"{system_prompt}\n\n{ours}" if system_prompt else ours


def _holds_anything(open_turn: OpenTurn) -> bool:
    """Whether a turn was handed results, or an earlier turn that a restart cut off."""
    manager, turn = open_turn.manager, open_turn.turn
    return manager.runs.results.outbox.is_holding(turn.turn_id) or manager.log.has(turn)
