"""Short words for what a scripted model answers: a text, tool calls, a failure, a pause.

It only builds replies; `script` decides who gets which.
"""

import asyncio
import inspect
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from standin.protocol import ChatReply, ChatRequest, ToolCall, Usage

type Step = ChatReply | Callable[[ChatRequest], ChatReply | Awaitable[ChatReply]]
"""One answer of a scripted model: fixed, or made from the request."""


def say(text: str, *, usage: Usage | None = None) -> ChatReply:
    """Answer with a text."""
    return ChatReply(text=text, usage=usage)


def call(name: str, arguments: dict[str, Any] | None = None, *, text: str = "") -> ChatReply:
    """Call one tool, with a text before it if given."""
    return calls((name, arguments or {}), text=text)


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> ChatReply:
    """Call several tools in one answer, in this order."""
    return ChatReply(text=text, tool_calls=tuple(_tool_call(*each) for each in wanted))


def broken_call(name: str, arguments: str) -> ChatReply:
    """Call a tool with a text as its arguments that need not be valid JSON."""
    return ChatReply(tool_calls=(_tool_call(name, arguments),))


def fail(status: int, message: str = "scripted failure") -> ChatReply:
    """Answer with an HTTP error, such as 500 or 401."""
    return ChatReply(status=status, error=message)


def empty() -> ChatReply:
    """Answer with neither text nor tool call."""
    return ChatReply()


def after(gate: asyncio.Event, step: Step) -> Step:
    """Answer only once the test opened the gate."""

    async def wait_and_answer(request: ChatRequest) -> ChatReply:
        await gate.wait()
        return await play(step, request)

    return wait_and_answer


def never() -> Step:
    """Let the request hang until its client gives up."""
    return after(asyncio.Event(), empty())


async def play(step: Step, request: ChatRequest) -> ChatReply:
    """Return the reply that a step gives to a request."""
    if isinstance(step, ChatReply):
        return step
    reply = step(request)
    return await reply if inspect.isawaitable(reply) else reply


def _tool_call(name: str, arguments: dict[str, Any] | str) -> ToolCall:
    return ToolCall(id=f"call_{uuid.uuid4().hex[:12]}", name=name, arguments=arguments)
