"""`transfer_to_<name>`: give a sub-agent a task."""

from typing import Annotated

from pydantic import Field

from ..manager import Run, RunState, SubAgentConfig
from ..manager.models import OwnerId
from ..manager.names import transfer_tool_name
from .arguments import Arguments
from .delivering import how_delivered
from .describing import about
from .reports import nowhere, progress_of, report
from .spec import CallContext, ToolSpec

_DELIVERY = (
    "Its result is delivered to you when it is there; collect it earlier with `wait_for_subagent`."
)


class TransferArguments(Arguments):
    """What a transfer tool takes."""

    input: Annotated[
        str,
        Field(
            min_length=1,
            description="The whole task with everything the sub-agent must know.",
        ),
    ]
    image_urls: Annotated[
        tuple[str, ...], Field(description="Images to look at: paths or URLs.")
    ] = ()
    background_task: Annotated[
        bool,
        Field(
            description="true: return a task id at once, so that several sub-agents work side by "
            "side. false: wait for the answer."
        ),
    ] = False


class SingleTransferArguments(TransferArguments):
    """What the one tool for all sub-agents takes."""

    name: Annotated[str, Field(description="The sub-agent that gets the task.")]


async def transfer_to_any(context: CallContext, arguments: SingleTransferArguments) -> str:
    """Give the named agent a task."""
    return await _transfer(arguments.name, context, arguments)


TRANSFER = ToolSpec(
    name="transfer_to_subagent",
    description="Give a task to one of the sub-agents of this chat, named by `name`.",
    arguments=SingleTransferArguments,
    handler=transfer_to_any,
)


def transfer_tool(
    config: SubAgentConfig, *, reader: OwnerId | None = None
) -> ToolSpec[TransferArguments]:
    """The tool that hands work to this agent.

    Args:
        config: The agent.
        reader: In whose turn the tool is shown; None: nobody in particular.
    """

    async def transfer(context: CallContext, arguments: TransferArguments) -> str:
        return await _transfer(config.name, context, arguments)

    return ToolSpec(
        name=transfer_tool_name(config.name),
        description=f"Give a task to the sub-agent {config.name}: {about(config, reader)}",
        arguments=TransferArguments,
        handler=transfer,
    )


async def _transfer(name: str, context: CallContext, arguments: TransferArguments) -> str:
    manager, turn = context.manager, context.turn
    delivery = how_delivered(_DELIVERY, turn)
    run = await manager.delegate(
        name,
        arguments.input,
        turn,
        background=arguments.background_task,
        image_urls=arguments.image_urls,
    )
    if arguments.background_task:
        return _started(run, manager.runs.position(run.run_id), delivery)
    # asked only now: checking images may have taken a while
    seconds = context.seconds_left()
    outcome = await manager.wait([run.run_id], turn, timeout_seconds=seconds)
    if outcome.finished:
        return report(outcome.finished[0], limit=manager.settings.result_maxlen)
    manager.hand_over(run.run_id, turn)
    if outcome.unfinished[0].state is RunState.WAITING:
        return f"{name} needs an answer to go on.\n{progress_of(outcome.unfinished, nowhere)}"
    if outcome.closing:
        return (
            f"The sub-agents plugin is being reloaded; the task goes on.\ntask_id: {run.run_id}\n"
            f"{delivery}"
        )
    return (
        f"{name} is still at work after {seconds:.0f} s, so the task goes on in the "
        f"background.\ntask_id: {run.run_id}\n{delivery}"
    )


def _started(run: Run, position: int | None, delivery: str) -> str:
    state = "started" if position is None else f"waiting in line, place {position}"
    return f"task_id: {run.run_id}\nsub-agent: {run.agent}\nstate: {state}\n{delivery}"
