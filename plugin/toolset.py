"""A tool set that can change while the main agent works: the next model request shows it.

AstrBot's runner reads `req.func_tool` before each request, but in the schema mode `skills_like` it
takes a light and a parameter-only copy when a turn starts (`reset` in
`core/agent/runners/tool_loop_agent_runner.py`). This set keeps the copies it handed out in step.
"""

from collections.abc import Callable, Iterable

from astrbot.api import FunctionTool, ToolSet, logger


class LiveToolSet(ToolSet):
    """The tools of one model run: AstrBot's own first, then ours in the order they came.

    Ours never take the place of another tool.
    """

    def __init__(self, tools: Iterable[FunctionTool] = ()) -> None:
        super().__init__()
        # set, not passed: AstrBot's set would check every tool's schema again, for milliseconds
        self.tools = list(tools)
        self._copies: list[tuple[ToolSet, Callable[[ToolSet], ToolSet]]] = []
        self._ours: set[str] = set()

    def put(self, tool: FunctionTool) -> bool:
        """Add one of our tools, or put a new version in its place.

        Returns:
            False when a tool that is not ours has the name; nothing was changed.
        """
        if tool.name not in self._ours and self.get_tool(tool.name) is not None:
            logger.warning("The tool %r was left out: another one has this name.", tool.name)
            return False
        self.add_tool(tool)
        self._ours.add(tool.name)
        return True

    def drop(self, name: str) -> None:
        """Take one of our tools away; a tool that is not ours stays."""
        if name in self._ours:
            self.remove_tool(name)

    def add_tool(self, tool: FunctionTool) -> None:
        """Add a tool as AstrBot does, here and in the copies."""
        super().add_tool(tool)
        self._ours.discard(tool.name)
        for copy, reduce in self._copies:
            one = ToolSet()
            one.tools = [self.get_tool(tool.name)]
            _bring_in_step(copy, reduce(one), tool.name)

    def remove_tool(self, name: str) -> None:
        """Remove a tool, here and in the copies."""
        super().remove_tool(name)
        self._ours.discard(name)
        for copy, _ in self._copies:
            copy.remove_tool(name)

    def get_light_tool_set(self) -> ToolSet:
        """Return a copy with names and descriptions that follows this set."""
        return self._follow(ToolSet.get_light_tool_set)

    def get_param_only_tool_set(self) -> ToolSet:
        """Return a copy with names and parameters that follows this set."""
        return self._follow(ToolSet.get_param_only_tool_set)

    def _follow(self, reduce: Callable[[ToolSet], ToolSet]) -> ToolSet:
        copy = reduce(self)
        self._copies.append((copy, reduce))
        return copy


def _bring_in_step(copy: ToolSet, reduced: ToolSet, name: str) -> None:
    """Give a copy the reduced tool; a tool that is switched off is reduced to nothing."""
    if reduced.empty():
        copy.remove_tool(name)
    for tool in reduced.tools:
        copy.add_tool(tool)
