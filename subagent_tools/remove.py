"""`remove_subagent`: let a sub-agent go."""

from typing import Annotated

from pydantic import Field

from .arguments import Arguments
from .spec import CallContext, ToolSpec


class RemoveArguments(Arguments):
    """What `remove_subagent` takes."""

    name: Annotated[
        str,
        Field(description='Its name, or "all" for your own unprotected ones that you made.'),
    ]


async def remove(context: CallContext, arguments: RemoveArguments) -> str:
    """Remove one, or all of the asker's own."""
    asker = context.turn.asker
    if arguments.name.strip().lower() == "all":
        removed, busy = await context.manager.remove_all(asker)
        text = f"Removed: {', '.join(agent.name for agent in removed) or 'none'}."
        if busy:
            names = ", ".join(agent.name for agent in busy)
            text += f" Still at work, so kept: {names}. Stop them with `cancel_subagent_task`."
        return text
    config = await context.manager.remove(arguments.name, asker)
    return f"Removed sub-agent {config.name}. Results of its finished tasks stay readable."


REMOVE = ToolSpec(
    name="remove_subagent",
    description="Remove a sub-agent that you made, or all of yours.",
    arguments=RemoveArguments,
    handler=remove,
)
