"""Which tools a child gets: its `ToolScope` against what the asker may use when the run starts.

The result is all that the child has: AstrBot's runner refuses every other name. Tools of plugins
and MCP servers are taken with AstrBot's permission guard around them, even where the main agent
has them without it. Our own tools are not among them: the turn's handle leaves them out.
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from astrbot.api import FunctionTool, ToolSet, logger
from astrbot.api.star import Context
from astrbot.core.agent.handoff import HandoffTool

from ..manager.fork_context import ForkContext
from ..manager.host import AgentRequest, ToolScope
from ..manager.models import Origin, SessionId
from ..manager.settings import MANAGEMENT_TOOLS
from ..manager.tool_filter import ReadOnly, ToolFacts, ToolFilter
from .child_event import handle_of
from .fork_tools import ForkTools, RefusedTool
from .host_tools import HostTools, is_active
from .own_tools import OwnTool, OwnTools
from .tool_facts import tool_facts
from .turn_handle import TurnHandle

ALL = "*"
_TRANSFER = "transfer_to_"

_BY_NAME_ONLY = frozenset({"future_task", "send_message_to_user", "astrbot_shell_session"})
"""Tools that "all" does not mean: they speak for the bot, or outlive the child."""

_READS_SKILLS = frozenset({"astrbot_file_read_tool"})
"""What a child needs to read the files of its skills; the shell is for admins only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTools:
    """A child's tools, in an order that keeps the prefix of its requests."""

    tool_set: ToolSet
    read_only: frozenset[str]
    refuse: Callable[[FunctionTool], str]
    """Why a tool may not be called, asked at each call; "" lets it be called."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.tool_set.names())


class ChildTools:
    """Finds the tools of children."""

    def __init__(self, context: Context) -> None:
        self._host_tools = HostTools(context)
        self._own_tools = OwnTools()
        self._fork_tools = ForkTools()

    def resolve(self, request: AgentRequest) -> ResolvedTools:
        """The tools of one child, as they are now."""
        scope = request.tools
        usable = self._usable(handle_of(request), request.session, request.origin)
        if scope.assigned is None:
            usable = {**self._host_tools.all(request.session), **usable}
        elif scope.beyond_turn:
            usable = {**self._named(scope.assigned, usable, request.session), **usable}
        # a plugin may use the name of one of AstrBot's tools
        registered = self._host_tools.registered().keys()
        facts = {name: tool_facts(tool, registered) for name, tool in usable.items()}
        wanted = [name for name in _wanted(scope, usable, request) if name in usable]
        allowed = {each.name for each in scope.filter.filter(facts[name] for name in wanted)}
        given = {name: usable[name] for name in allowed}
        tool_set = ToolSet()
        # not by `add_tool`, which looks for doubles: there are none
        if request.fork is not None:
            why_not = {name: _why_not(name, facts, scope) for name in _listed(request.fork)}
            tool_set.tools.extend(self._fork_tools.listed(request.fork, given, why_not))
        else:
            own = {tool.name: tool for tool in self._own_tools.wrap(request.own_tools)}
            given.update({name: own[name] for name in own.keys() - scope.denied})
            tool_set.tools.extend(copy.copy(given[name]) for name in sorted(given))
        for tool in tool_set.tools:
            # a plugin's hook may change what it finds: that must not reach AstrBot or another run
            tool.parameters = copy.deepcopy(tool.parameters)
        return ResolvedTools(
            tool_set=tool_set,
            read_only=frozenset(name for name in allowed if _only_reads(facts[name], scope.filter))
            | {tool.name for tool in request.own_tools if tool.read_only},
            refuse=partial(self._refuse, scope.filter),
        )

    def _refuse(self, tool_filter: ToolFilter, tool: FunctionTool) -> str:
        """Ask a filter once more, by what is known of the tool when it is called."""
        if isinstance(tool, OwnTool | RefusedTool):
            return ""
        facts = tool_facts(tool, self._host_tools.registered())
        return "" if tool_filter.is_allowed(facts) else _filtered(tool_filter)

    def _named(
        self, names: Iterable[str], usable: Mapping[str, FunctionTool], session: SessionId
    ) -> dict[str, FunctionTool]:
        """Named tools that the main agent was not given, as far as this chat offers them."""
        missing = set(names) - usable.keys() - {ALL}
        if not missing:
            return {}
        offered = self._host_tools.all(session)
        return {name: offered[name] for name in missing if name in offered}

    def usable_names(self, session: SessionId | None, handle: TurnHandle | None) -> frozenset[str]:
        """Names that a child may be given in this turn, those that must be named included."""
        return frozenset(self._usable(handle, session, Origin()))

    def _usable(
        self, handle: TurnHandle | None, session: SessionId | None, origin: Origin
    ) -> dict[str, FunctionTool]:
        """What the asker may use: the main agent's tools, or as near as can be without a turn."""
        if handle is not None and handle.provider_request is not None:
            return self._of_main_agent(handle.main_tools or ToolSet())
        tools = self._host_tools.of_persona(session, origin.persona_id)
        # what another plugin took from the asker's turn must not come back when the turn is over
        allowed = tools.keys() if origin.tools is None else origin.tools
        return {name: tool for name, tool in tools.items() if name in allowed}

    def _of_main_agent(self, tool_set: ToolSet) -> dict[str, FunctionTool]:
        registered = self._host_tools.registered()
        tools = (self._host_tools.guarded(tool, registered) for tool in tool_set)
        return {tool.name: tool for tool in tools if tool is not None and is_active(tool)}


def _wanted(
    scope: ToolScope, usable: Mapping[str, FunctionTool], request: AgentRequest
) -> Iterable[str]:
    assigned: set[str]
    if scope.assigned is None or ALL in scope.assigned:
        assigned = {name for name, tool in usable.items() if _is_meant_by_all(tool)}
        assigned.update(set(scope.assigned or ()) - {ALL})
    else:
        assigned = set(scope.assigned)
    lost = sorted(assigned - usable.keys() - scope.denied)
    if lost:
        logger.warning(
            "Sub-agent %s does not get its tools %s: they are not there now, or not for the asker.",
            request.agent or request.run_id,
            ", ".join(lost),
        )
    inherent = set(scope.inherent) | (_READS_SKILLS if scope.reads_skills else set())
    return (assigned | inherent) - scope.denied


def _listed(fork: ForkContext) -> Iterable[str]:
    return (str(tool["name"]) for tool in fork.tools)


def _why_not(name: str, facts: Mapping[str, ToolFacts], scope: ToolScope) -> str:
    """Why a fork may not use a tool that is listed; meant for those that it may not use."""
    if name in MANAGEMENT_TOOLS or name.startswith(_TRANSFER):
        return (
            "you are a fork, and forks start, steer and wait for nobody. Do your task yourself "
            "and report."
        )
    if name in facts and name not in scope.denied and not scope.filter.is_allowed(facts[name]):
        return _filtered(scope.filter)
    return "a fork may not use it. Do without it, or say in your report that it is needed."


def _only_reads(tool: ToolFacts, tool_filter: ToolFilter) -> bool:
    """Whether calling a tool again changes nothing; `readonly` lets no other through."""
    return tool.reads_only or isinstance(tool_filter, ReadOnly)


def _filtered(tool_filter: ToolFilter) -> str:
    return (
        f"the tool filter `{tool_filter.name}` of this task does not allow it. Do without it, or "
        "say in your report that it is needed."
    )


def _is_meant_by_all(tool: Any) -> bool:
    if isinstance(tool, HandoffTool) or tool.name.startswith(_TRANSFER):
        return False
    return tool.name not in _BY_NAME_ONLY and tool.name not in MANAGEMENT_TOOLS
