"""A fake host whose children write in every step, and whose model takes its time."""

import asyncio
import random
from typing import override

from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    ModelReply,
    RunObserver,
    Started,
    ToolCall,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import Usage
from astrbot_plugin_subagents.manager.testing import FakeHost

ANSWER = "42"
_USAGE = Usage(input=1000, output=50)
_OUTPUT = "a line of the file that was written\n" * 20


class PacedHost(FakeHost):
    """Children that call a tool in each step; the tool writes, so that the journal notes it twice.

    Each step is two transactions: one before the call, one behind it, which carries the messages.
    """

    def __init__(self, *, steps: int, model_seconds: float = 0.0) -> None:
        """Say what children do.

        Args:
            steps: Steps with a tool call, before the one with the answer.
            model_seconds: What a model call takes, more or less: no two take the same.
        """
        super().__init__()
        self._steps = steps
        self._seconds = model_seconds
        self._random = random.Random(1)

    @override
    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        await observer.started(Started(provider_id="main", model="fake", tools=("write",)))
        await observer.messages_added([{"role": "user", "content": request.prompt}])
        for step in range(self._steps):
            await self._model_call(observer, "I write it down.")
            await _tool_call(observer, f"call{step}")
        await self._model_call(observer, ANSWER)
        await observer.messages_added([{"role": "assistant", "content": ANSWER}])
        await observer.answered(ANSWER)
        return AgentOutcome(text=ANSWER)

    async def _model_call(self, observer: RunObserver, text: str) -> None:
        await observer.before_model_call()
        if self._seconds:
            await asyncio.sleep(self._seconds * self._random.uniform(0.8, 1.2))
        await observer.model_replied(ModelReply(text=text, usage=_USAGE))


async def _tool_call(observer: RunObserver, call_id: str) -> None:
    arguments = '{"path": "report.md", "content": "a line"}'
    await observer.tool_started(
        ToolCall(call_id=call_id, name="write", arguments=arguments, read_only=False, limited=False)
    )
    await observer.tool_finished(
        ToolResult(call_id=call_id, name="write", output=_OUTPUT, is_error=False)
    )
    function = {"name": "write", "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    await observer.messages_added(
        [
            {"role": "assistant", "content": "I write it down.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": _OUTPUT},
        ]
    )
