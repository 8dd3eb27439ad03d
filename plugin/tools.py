"""Our tools as AstrBot knows them: each wraps a `ToolSpec` and answers with exactly one text.

The tools hold no turn; a call finds its turn by the event it comes with. They are never registered
with AstrBot, only put into the tool set of a model request, so nothing stays behind.
"""

import copy
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from astrbot.api import FunctionTool

from ..manager import Settings, SubAgentConfig
from ..manager.models import OwnerId
from ..subagent_tools import ToolSpec, management_tools, transfer_tool
from .spared_arguments import given, spare

type Arguments = dict[str, Any]
type Answer = Callable[[ToolSpec[Any], Any, Arguments], Awaitable[str]]
"""Called with the spec, AstrBot's run context of the call, and the arguments."""


class ModelTool(FunctionTool):
    """One of our tools in a main agent's tool set."""

    spec: ToolSpec[Any]
    answer: Answer

    async def call(self, context: Any, /, **arguments: Any) -> str:
        """Answer a call of the main agent."""
        return await self.answer(self.spec, context, given(arguments))


class ModelTools:
    """Makes our tools; the fixed ones once for the same settings."""

    def __init__(self, answer: Answer, settings: Callable[[], Settings]) -> None:
        # AstrBot checks a tool's schema whenever one is made, which takes milliseconds; ours are
        # checked by tests, so all are copies of one.
        self._blank = ModelTool(name="blank", description="", parameters={"type": "object"})
        self._blank.answer = answer
        self._parameters: dict[type[Any], dict[str, Any]] = {}
        self._settings = settings
        self._made_for = settings()
        self._management = self._made(self._made_for)

    def management(self) -> Iterable[ModelTool]:
        """The tools that every turn has, in their order."""
        if (settings := self._settings()) is not self._made_for:
            self._made_for, self._management = settings, self._made(settings)
        return self._management

    def transfer(self, config: SubAgentConfig, reader: OwnerId) -> ModelTool:
        """The tool that hands work to one agent, as shown in a user's turn."""
        return self._wrap(transfer_tool(config, reader=reader))

    def _made(self, settings: Settings) -> tuple[ModelTool, ...]:
        return tuple(self._wrap(spec) for spec in management_tools(settings))

    def _wrap(self, spec: ToolSpec[Any]) -> ModelTool:
        tool = copy.copy(self._blank)
        tool.name = spec.name
        tool.description = spec.description
        if spec.arguments not in self._parameters:
            self._parameters[spec.arguments] = spec.parameters
        tool.parameters = self._parameters[spec.arguments]
        tool.spec = spec
        return tool


def spare_reserved(tool: object, arguments: object) -> None:
    """Keep arguments of our tools from clashing with names in AstrBot's own call."""
    if isinstance(tool, ModelTool):
        spare(arguments)
