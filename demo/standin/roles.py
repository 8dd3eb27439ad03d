"""Tells whether a request comes from an unnamed copy of the main agent: a fresh one, or a fork.

A fresh copy is known by its system prompt. A fork has the main agent's own prompt and tools, so it
is known by nothing but its task, which the stand-in itself has written (see `tasking`).
"""

from typing import Any

from .protocol import ChatRequest, message_text

FORK_TASK = "You are a fork. Judge this conversation and do nothing else. Side: "
"""How each task for a fork begins; the side stands behind it."""

_COPY = "You carry out one task for the main agent"


def is_copy(request: ChatRequest) -> bool:
    """Tell whether a fresh copy asks."""
    return _COPY in request.system_text()


def is_fork(request: ChatRequest) -> bool:
    """Tell whether a fork asks."""
    return any(is_fork_task(each) for each in request.messages)


def is_fork_task(message: dict[str, Any]) -> bool:
    """Tell whether a message is the task of a fork."""
    return message.get("role") == "user" and message_text(message).startswith(FORK_TASK)
