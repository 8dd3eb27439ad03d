"""The core's own tools of a child, as AstrBot knows tools."""

import copy
from collections.abc import Iterable
from typing import Any

from astrbot.api import FunctionTool
from mcp.types import CallToolResult, TextContent

from ..manager.host import ChildTool
from .spared_arguments import given


class OwnTool(FunctionTool):
    """One of the core's tools in a child's tool set."""

    child_tool: ChildTool

    async def call(self, context: Any, /, **arguments: Any) -> CallToolResult:
        """Answer a call of the child."""
        reply = await self.child_tool.call(given(arguments))
        return CallToolResult(
            content=[TextContent(type="text", text=reply.text)], isError=reply.is_error
        )


class OwnTools:
    """Wraps the core's tools; a schema is checked by AstrBot once, not for every child."""

    def __init__(self) -> None:
        self._blank = OwnTool(name="blank", description="", parameters={"type": "object"})

    def wrap(self, tools: Iterable[ChildTool]) -> list[OwnTool]:
        """The tools as AstrBot knows them."""
        return [self._wrap(tool) for tool in tools]

    def _wrap(self, child_tool: ChildTool) -> OwnTool:
        tool = copy.copy(self._blank)
        tool.name = child_tool.name
        tool.description = child_tool.description
        tool.parameters = dict(child_tool.parameters)
        tool.child_tool = child_tool
        return tool
