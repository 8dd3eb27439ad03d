"""A `RunObserver` that keeps what it is told, and shapes or breaks off a run as a test says."""

import asyncio
from collections.abc import Sequence
from typing import Any

from astrbot_plugin_subagents.manager.host import (
    ModelCallPlan,
    ModelReply,
    Started,
    ToolCall,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import MessageBody, Usage

WAIT_SECONDS = 30.0


class Recording:
    """Keeps everything in the order in which it was told.

    Attributes:
        events: Pairs of the observer's method and what it was given.
        plans: What `before_model_call` answers, one after another; then plans without anything.
        phases: How many answers are not the child's end.
        answers: The texts that `answered` was given.
        errors: What a method raises when it is called, by the method's name.
    """

    def __init__(self, *plans: ModelCallPlan, **errors: Exception) -> None:
        self.events: list[tuple[str, Any]] = []
        self.plans = list(plans)
        self.phases = 0
        self.answers: list[str] = []
        self.errors = errors
        self._changed = asyncio.Event()

    @property
    def order(self) -> list[str]:
        """The names of the methods, in the order of their calls."""
        return [name for name, _ in self.events]

    @property
    def messages(self) -> list[MessageBody]:
        """All messages that belong to the conversation."""
        return [body for bodies in self.told("messages_added") for body in bodies]

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls."""
        return sum((reply.usage for reply in self.told("model_replied")), Usage())

    def told(self, name: str) -> list[Any]:
        """What one method was given, call by call."""
        return [given for each, given in self.events if each == name]

    async def heard(self, name: str, count: int = 1) -> Any:
        """Wait until a method was called that often, and return what it was given then.

        Raises:
            TimeoutError: It was not called within half a minute.
        """
        async with asyncio.timeout(WAIT_SECONDS):
            while len(self.told(name)) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.told(name)[count - 1]

    async def started(self, started: Started) -> None:
        self._take("started", started)

    async def before_model_call(self) -> ModelCallPlan:
        plan = self.plans.pop(0) if self.plans else ModelCallPlan()
        self._take("before_model_call", plan)
        return plan

    async def model_replied(self, reply: ModelReply) -> None:
        self._take("model_replied", reply)

    async def tool_started(self, call: ToolCall) -> None:
        self._take("tool_started", call)

    async def tool_finished(self, result: ToolResult) -> None:
        self._take("tool_finished", result)

    async def answered(self, text: str) -> bool:
        self.answers.append(text)
        return len(self.answers) <= self.phases

    async def messages_added(self, messages: Sequence[MessageBody]) -> None:
        self._take("messages_added", list(messages))

    def _take(self, name: str, given: Any) -> None:
        self.events.append((name, given))
        self._changed.set()
        if name in self.errors:
            raise self.errors[name]
