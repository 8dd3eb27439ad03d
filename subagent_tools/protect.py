"""`protect_subagent` and `unprotect_subagent`: whether a sub-agent outlives the turn."""

from typing import Annotated

from pydantic import Field

from ..manager import AgentKind
from .arguments import Arguments
from .spec import CallContext, ToolSpec


class ProtectArguments(Arguments):
    """What both tools take."""

    name: Annotated[str, Field(description="Its name.")]


async def protect(context: CallContext, arguments: ProtectArguments) -> str:
    """Keep the agent, with its memory, for later turns."""
    if static := _static(context, arguments.name):
        return f"{static} is static: it is always protected. Nothing was changed."
    config = await context.manager.protect(arguments.name, context.turn.asker)
    return f"Sub-agent {config.name} is protected: it stays, with its memory, after your turn."


async def unprotect(context: CallContext, arguments: ProtectArguments) -> str:
    """Let the agent go with its owner's turn again."""
    if static := _static(context, arguments.name):
        return f"{static} is static: it is always protected. Nothing was changed."
    config = await context.manager.unprotect(arguments.name, context.turn.asker)
    return f"Sub-agent {config.name} is not protected any more."


def _static(context: CallContext, name: str) -> str:
    wanted = name.lower()
    for agent in context.manager.agents():
        if agent.name.lower() == wanted and agent.kind is AgentKind.STATIC:
            return agent.name
    return ""


PROTECT = ToolSpec(
    name="protect_subagent",
    description="Keep a sub-agent, with its memory, beyond this turn.",
    arguments=ProtectArguments,
    handler=protect,
)
UNPROTECT = ToolSpec(
    name="unprotect_subagent",
    description="Take the protection away: the sub-agent goes at the end of the turn.",
    arguments=ProtectArguments,
    handler=unprotect,
)
