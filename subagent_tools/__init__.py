"""What the main model sees: one file per tool, with its arguments, handler and text reply."""

from typing import Any

from ..manager import Settings
from .board import POST, VIEW
from .calling import call_tool
from .cancel import CANCEL
from .children import child_tools
from .create import CREATE
from .list_agents import LIST
from .notes import running_notes, turn_notes
from .protect import PROTECT, UNPROTECT
from .questions import ANSWER
from .read_result import READ_RESULT
from .remove import REMOVE
from .replies import error_text
from .reset import RESET
from .spec import CallContext, ToolSpec
from .task import task_tool
from .transfer import TRANSFER, transfer_tool
from .wait import WAIT

type AnyTool = ToolSpec[Any]


def management_tools(settings: Settings) -> tuple[AnyTool, ...]:
    """The tools of the main agent, in a stable order, transfer tools left out."""
    making: tuple[AnyTool, ...] = (CREATE,) if settings.dynamic_agents.enabled else ()
    board: tuple[AnyTool, ...] = (POST, VIEW) if settings.shared_context_enabled else ()
    questions: tuple[AnyTool, ...] = (ANSWER,) if settings.questions_enabled else ()
    task: tuple[AnyTool, ...] = (task_tool(settings),) if settings.task.enabled else ()
    single: tuple[AnyTool, ...] = (TRANSFER,) if settings.dynamic_agents.handoff == "single" else ()
    return (
        *making,
        REMOVE,
        LIST,
        RESET,
        PROTECT,
        UNPROTECT,
        WAIT,
        CANCEL,
        READ_RESULT,
        *questions,
        *board,
        *task,
        *single,
    )


__all__ = [
    "AnyTool",
    "CallContext",
    "ToolSpec",
    "call_tool",
    "child_tools",
    "error_text",
    "management_tools",
    "running_notes",
    "task_tool",
    "transfer_tool",
    "turn_notes",
]
