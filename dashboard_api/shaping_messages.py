"""From stored messages to what the API replies; a model's and a tool's words are data."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..manager.models import MessageBody, StoredMessage
from .replies import Message, ToolCallReply
from .steps import Step, step_at

type Role = Literal["user", "assistant", "tool", "system"]


def messages(
    rows: Sequence[StoredMessage], *, offset: int, steps: Sequence[Step] = ()
) -> list[Message]:
    """Messages, with what is known of the steps in which they were made.

    Args:
        rows: In their order.
        offset: How many stand before them.
        steps: Those of their run, as far as they are kept.
    """
    timing = _Timing(steps)
    return [_message(row, offset + number, timing) for number, row in enumerate(rows)]


class _Timing:
    """Gives each step's figures once: to the message that its model call, or its tool, gave."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._told: set[int] = set()
        self._tools = {id(step): list(step.tools) for step in steps}
        self._names: dict[str, str] = {}
        """Of tool calls, by their ids."""

    def of(self, row: StoredMessage, calls: Sequence[ToolCallReply]) -> dict[str, Any]:
        """`step`, `tokens` and `seconds` of a message."""
        self._names |= {call.id: call.name for call in calls}
        role = row.body.get("role")
        step = step_at(self._steps, row.at) if role in ("assistant", "tool") else None
        if step is None:
            return {"step": None, "tokens": None, "seconds": None}
        tokens, seconds = None, None
        if role == "assistant" and id(step) not in self._told:
            self._told.add(id(step))
            tokens, seconds = step.tokens, step.seconds
        elif role == "tool":
            seconds = self._tool_seconds(step, row.body)
        return {"step": step.number, "tokens": tokens, "seconds": seconds}

    def _tool_seconds(self, step: Step, body: MessageBody) -> float | None:
        name = self._names.get(str(body.get("tool_call_id")))
        left = self._tools[id(step)]
        for call in left:
            if call[0] == name:
                left.remove(call)
                return call[1]
        return None


def _message(row: StoredMessage, index: int, timing: _Timing) -> Message:
    text, reasoning, images = _content(row.body)
    calls = _tool_calls(row.body)
    call_id = row.body.get("tool_call_id")
    return Message(
        index=index,
        role=_role(row.body),
        text=text,
        reasoning=reasoning or None,
        tool_calls=calls,
        tool_call_id=None if call_id is None else str(call_id),
        images=images,
        at=row.at,
        **timing.of(row, calls),
    )


def _role(body: MessageBody) -> Role:
    match body.get("role"):
        case "user":
            return "user"
        case "assistant":
            return "assistant"
        case "tool":
            return "tool"
    return "system"


def _content(body: MessageBody) -> tuple[str, str, int]:
    """Its text, what its model thought, and how many images it has."""
    content = body.get("content")
    parts = content if isinstance(content, list) else [content]
    texts, thoughts, images = [], [_text(body.get("reasoning_content"))], 0
    for part in parts:
        if not isinstance(part, Mapping):
            texts.append(_text(part))
        elif part.get("type") == "think":
            thoughts.append(_text(part.get("think")))
        elif part.get("type") == "image_url":
            images += 1
        else:
            texts.append(_text(part.get("text")))
    return "\n".join(filter(None, texts)), "\n".join(filter(None, thoughts)), images


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tool_calls(body: MessageBody) -> list[ToolCallReply]:
    calls = body.get("tool_calls")
    found = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        arguments = function.get("arguments", "")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        found.append(
            ToolCallReply(
                id=str(call.get("id") or ""),
                name=str(function.get("name") or ""),
                arguments=arguments,
            )
        )
    return found
