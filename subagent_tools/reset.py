"""`reset_subagent`: let a sub-agent forget."""

from typing import Annotated

from pydantic import Field

from .arguments import Arguments
from .spec import CallContext, ToolSpec


class ResetArguments(Arguments):
    """What `reset_subagent` takes."""

    name: Annotated[str, Field(description="Its name.")]


async def reset(context: CallContext, arguments: ResetArguments) -> str:
    """Forget the memory of an idle agent."""
    config = await context.manager.reset(arguments.name, context.turn.asker)
    return f"Sub-agent {config.name} has forgotten its earlier tasks."


RESET = ToolSpec(
    name="reset_subagent",
    description="Empty a sub-agent's memory of earlier tasks. Its instructions and tools stay.",
    arguments=ResetArguments,
    handler=reset,
)
