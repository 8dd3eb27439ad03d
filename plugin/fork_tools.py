"""A fork's tools: the main agent's list as it was sent, and a refusal behind all that forks lack.

The list is not shortened, since any change of it would cost the provider's prefix cache.
"""

import copy
from collections.abc import Mapping
from typing import Any

from astrbot.api import FunctionTool
from mcp.types import CallToolResult, TextContent

from ..manager.fork_context import ForkContext


class RefusedTool(FunctionTool):
    """A tool that is listed and may not be used."""

    why: str

    async def call(self, context: Any, /, **arguments: Any) -> CallToolResult:
        """Say why it may not be used."""
        return refusal(self.name, self.why)


class ForkTools:
    """Makes the listed tools; a schema is checked by AstrBot once, not for every fork."""

    def __init__(self) -> None:
        self._blank = RefusedTool(name="blank", description="", parameters={"type": "object"})

    def listed(
        self, fork: ForkContext, usable: Mapping[str, FunctionTool], why_not: Mapping[str, str]
    ) -> list[FunctionTool]:
        """The tools of a fork, in the order in which the main agent has them.

        Args:
            fork: What it begins with.
            usable: What may be called, by name.
            why_not: Why each of the others may not.
        """
        tools: list[FunctionTool] = []
        for listed in fork.tools:
            name = str(listed["name"])
            tool = copy.copy(usable.get(name, self._blank))
            tool.name = name
            tool.description = listed["description"]
            tool.parameters = listed["parameters"]
            # a guard remembers whether its tool was switched on when the guard was made
            tool.active = True
            if isinstance(tool, RefusedTool):
                tool.why = why_not[name]
            tools.append(tool)
        return tools


def refusal(name: str, why: str) -> CallToolResult:
    """A tool's result that says that it was not run."""
    text = f"error: `{name}` was not run: {why}"
    return CallToolResult(content=[TextContent(type="text", text=text)], isError=True)
