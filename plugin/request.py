"""What the main agent's model request gets from us: live tools, the router prompt, news.

What never changes goes into the system prompt, what changes into temporary parts of the user turn,
so that the provider's prefix cache holds.
"""

from dataclasses import replace

from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Context
from astrbot.core.agent.message import TextPart

from ..manager.events import AgentChanged, AgentCreated, AgentRemoved, Event, EventBus
from ..subagent_tools import turn_notes
from .persona import selected_persona
from .tools import ModelTools
from .toolset import LiveToolSet
from .turns import OpenTurn, Turns


class Requests:
    """Fills model requests and keeps their tools in step with the session's agents."""

    def __init__(self, context: Context, turns: Turns, tools: ModelTools, bus: EventBus) -> None:
        self._context = context
        self._turns = turns
        self._tools = tools
        self._unsubscribe = bus.subscribe(self._follow)

    async def fill(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        """Add ours to the request of an event's turn; without a turn nothing is added.

        Raises:
            SubAgentError: Results could not be collected; the tools are there all the same.
        """
        open_turn = self._turns.of(event)
        if open_turn is None:
            return
        turn, handle = open_turn.turn, open_turn.handle
        handle.main_tools, handle.provider_request = request.func_tool, request
        persona = await selected_persona(self._context, event, request)
        turn.origin = replace(turn.origin, persona_id=persona)
        request.func_tool = self._tool_set(open_turn, request)
        ours = open_turn.manager.router_prompt()
        request.system_prompt = _joined(request.system_prompt, ours)
        notes = await turn_notes(open_turn.manager, turn)
        if notes:
            request.extra_user_content_parts.append(TextPart(text=notes).mark_as_temp())

    def close(self) -> None:
        """Follow the agents no longer."""
        self._unsubscribe()

    def _tool_set(self, open_turn: OpenTurn, request: ProviderRequest) -> LiveToolSet:
        tool_set = LiveToolSet(request.func_tool.tools if request.func_tool else ())
        for tool in self._tools.management():
            tool_set.put(tool)
        for config in open_turn.manager.agents():
            tool_set.put(self._tools.transfer(config))
        open_turn.tool_sets.append(tool_set)
        return tool_set

    def _follow(self, happened: Event) -> None:
        if not isinstance(happened, AgentCreated | AgentChanged | AgentRemoved):
            return
        tool = self._tools.transfer(happened.config)
        for open_turn in self._turns.in_session(happened.session):
            for tool_set in open_turn.tool_sets:
                if isinstance(happened, AgentRemoved):
                    tool_set.drop(tool.name)
                else:
                    tool_set.put(tool)


def _joined(system_prompt: str | None, ours: str) -> str:
    return f"{system_prompt}\n\n{ours}" if system_prompt else ours
