"""What a sub-agent has of the core's own tools: the board, and questions."""

from ..manager.child_desk import ChildDesk
from ..manager.host import ChildTool
from .board import board_tools
from .questions import ask_tools


def child_tools(desk: ChildDesk) -> tuple[ChildTool, ...]:
    """The core's own tools of one running child."""
    return (*board_tools(desk), *ask_tools(desk))
