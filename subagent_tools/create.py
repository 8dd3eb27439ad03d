"""`create_subagent`: make a specialist."""

from typing import Annotated

from pydantic import Field

from ..manager import NewAgent
from ..manager.names import transfer_tool_name
from .arguments import Arguments
from .list_agents import tools_text
from .spec import CallContext, ToolSpec
from .transfer import TRANSFER


class CreateArguments(Arguments):
    """What `create_subagent` takes."""

    name: Annotated[
        str,
        Field(
            description="1 to 32 letters, digits or underscores, a letter first. The same name "
            "again replaces your own idle sub-agent; its memory starts afresh."
        ),
    ]
    system_prompt: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100_000,
            description="Its role, the context it needs, and how to work. It does not see this "
            "conversation.",
        ),
    ]
    description: Annotated[
        str,
        Field(max_length=2_000, description="One sentence for you: when to hand work to it."),
    ] = ""
    tools: Annotated[
        tuple[str, ...],
        Field(
            description='Names of tools it may use. Leave out for none; ["*"] for all that the '
            "user may use. Give the fewest that do the job."
        ),
    ] = ()
    skills: Annotated[
        tuple[str, ...], Field(description="Names of skills it is to know. Leave out for none.")
    ] = ()
    workdir: Annotated[
        str,
        Field(description="Absolute folder to work in. Leave out for a folder of its own."),
    ] = ""
    provider_id: Annotated[
        str, Field(description="Chat model provider to use. Leave out for the usual one.")
    ] = ""


async def create(context: CallContext, arguments: CreateArguments) -> str:
    """Make the agent and name its tool."""
    config = await context.manager.create(NewAgent(**arguments.model_dump()), context.turn)
    settings = context.manager.settings
    if settings.dynamic_agents.handoff == "single":
        tool = f'{TRANSFER.name}(name="{config.name}")'
    else:
        tool = transfer_tool_name(config.name)
    end = (
        "It goes at the end of your turn unless you call `protect_subagent`."
        if settings.dynamic_agents.auto_cleanup_per_turn
        else "It stays until you remove it."
    )
    tools = tools_text(config, settings.dynamic_agents)
    return (
        f"Sub-agent {config.name} is ready (tools: {tools}). Call `{tool}` to give it work. {end}"
    )


CREATE = ToolSpec(
    name="create_subagent",
    description="Make a sub-agent: a specialist with its own instructions, memory and tools. Its "
    "tool transfer_to_<name> is available in your very next step.",
    arguments=CreateArguments,
    handler=create,
)
