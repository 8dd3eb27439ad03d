"""A host whose children's tools make files."""

from collections.abc import Sequence
from dataclasses import replace

from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    RunObserver,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import Artifact
from astrbot_plugin_subagents.manager.testing import FakeHost, Script


class MakingHost(FakeHost):
    """A host whose children's tools make these files at each call."""

    def __init__(self, script: Script, made: Sequence[Artifact]) -> None:
        super().__init__(script)
        self.made = tuple(made)

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        tell = observer.tool_finished

        async def tool_finished(result: ToolResult) -> None:
            await tell(replace(result, artifacts=self.made))

        observer.tool_finished = tool_finished  # type: ignore[method-assign] # one method of it
        return await super().drive(request, observer)
