"""Names of the tools that the mind knows, and how it makes a call."""

import uuid
from typing import Any

from .protocol import ToolCall

CREATE = "create_subagent"
WAIT = "wait_for_subagent"
TASK = "task"
SEARCH = "search_project_docs"
TRANSFER = "transfer_to_"
SINGLE_TRANSFER = "transfer_to_subagent"

MANAGEMENT = frozenset(
    {
        CREATE,
        WAIT,
        TASK,
        "remove_subagent",
        "list_subagents",
        "reset_subagent",
        "protect_subagent",
        "unprotect_subagent",
        "cancel_subagent_task",
        "read_subagent_result",
        "answer_subagent",
    }
)


def call(name: str, /, **arguments: Any) -> ToolCall:
    """Make a tool call with an id of its own."""
    return ToolCall(id=f"call_{uuid.uuid4().hex}", name=name, arguments=arguments)
