"""What a run needs of the process that executes it, by the names of tools."""

from collections.abc import Collection

from ..host import ToolScope
from ..models import Run
from ..tool_filter import ToolFacts

_ALL_TOOLS = "*"


def needed_tools(run: Run, scope: ToolScope) -> frozenset[str]:
    """The tools that a run may call, as far as their names are known when it is asked for."""
    assigned = scope.assigned
    named = set(assigned or ()) - {_ALL_TOOLS}
    if assigned is None or _ALL_TOOLS in assigned:
        named.update(run.origin.tools or ())
    return frozenset(named - scope.denied)


def is_pinned(run: Run, scope: ToolScope, pinned: Collection[str]) -> bool:
    """Whether a run may call a tool that works at the home of its chat alone."""
    needed = needed_tools(run, scope)
    return any(name in needed and scope.filter.is_allowed(ToolFacts(name=name)) for name in pinned)
