"""The edge for children: one call of the core's own tools by a child, to one reply."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from ..manager import SubAgentError
from ..manager.host import ChildToolReply
from .arguments import validation_text
from .replies import error_text


async def call_child_tool[A: BaseModel](
    model: type[A],
    handler: Callable[[A], Awaitable[str]],
    arguments: Mapping[str, Any],
    *,
    undone: str,
) -> ChildToolReply:
    """Check the arguments, run the handler, and turn what is wrong into text.

    Args:
        model: What the tool takes.
        handler: Does it, and says what came of it.
        arguments: As the child's model gave them.
        undone: Says that nothing was done, where the arguments are wrong.
    """
    try:
        return ChildToolReply(text=await handler(model.model_validate(dict(arguments))))
    except ValidationError as error:
        return ChildToolReply(
            text=f"Error: {validation_text(error, model)} {undone}", is_error=True
        )
    except SubAgentError as error:
        return ChildToolReply(text=error_text(error), is_error=True)
