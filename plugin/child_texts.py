"""Texts on their way to a child's model: nothing that no provider takes, and not without end.

A lone surrogate, which tools and models do send, cannot be put on the wire: the next request
would fail. AstrBot puts a result that is too long into a file when the child can read files; for
the others it is cut here.
"""

from typing import Any

from astrbot.core.agent.message import Message, TextPart
from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from ..manager.store.texts import clean

LONGEST_RESULT = 100_000
"""Characters of a tool's result, for a child that cannot read files; about what AstrBot allows."""


def fitting(result: CallToolResult, longest: int | None) -> CallToolResult:
    """A tool's result as it may go to the model.

    Args:
        result: As the tool gave it.
        longest: Characters of all its texts together; None leaves their lengths alone.
    """
    texts = sum(_text(item) is not None for item in result.content)
    share = None if longest is None else longest // max(1, texts)
    content = [_fitting(item, share) for item in result.content]
    return result.model_copy(update={"content": content})


def clean_message(message: Message) -> None:
    """Take out of a message, in place, what cannot be sent again."""
    if isinstance(message.content, str):
        message.content = clean(message.content)
    elif isinstance(message.content, list):
        for part in message.content:
            if isinstance(part, TextPart):
                part.text = clean(part.text)
    for call in message.tool_calls or ():
        call.function.name = clean(call.function.name)
        call.function.arguments = clean(call.function.arguments or "")


def _text(item: Any) -> str | None:
    if isinstance(item, TextContent):
        return item.text
    if isinstance(item, EmbeddedResource) and isinstance(item.resource, TextResourceContents):
        return item.resource.text
    return None


def _fitting(item: Any, longest: int | None) -> Any:
    text = _text(item)
    if text is None:
        return item
    fit = _shortened(clean(text), longest)
    if isinstance(item, TextContent):
        return item.model_copy(update={"text": fit})
    return item.model_copy(update={"resource": item.resource.model_copy(update={"text": fit})})


def _shortened(text: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    head = longest * 2 // 3
    tail = longest - head
    left_out = len(text) - longest
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[-tail:]}"
