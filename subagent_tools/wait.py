"""`wait_for_subagent`: collect results; nothing polls."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ..manager import WaitOutcome
from .arguments import Arguments
from .reports import progress_of, reports
from .spec import CallContext, ToolSpec


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


type Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_list)]


class WaitArguments(Arguments):
    """What `wait_for_subagent` takes; a single string is taken as a list of one."""

    subagent_name: Annotated[
        Names, Field(description="Names: all their unfinished tasks, else their newest result.")
    ] = ()
    task_id: Annotated[Names, Field(description="Task ids to wait for.")] = ()
    mode: Annotated[
        Literal["all", "any"], Field(description="Wait for all of them, or for the first.")
    ] = "all"
    timeout: Annotated[
        float, Field(ge=1, le=3600, description="Seconds to wait at most, 1 to 3600.")
    ] = 60


async def wait(context: CallContext, arguments: WaitArguments) -> str:
    """Wait for tasks and give what there is."""
    manager, turn = context.manager, context.turn
    ids: list[str] = list(arguments.task_id)
    if arguments.subagent_name:
        ids += await manager.unfinished_or_newest(arguments.subagent_name, turn.asker)
    if not ids and arguments.subagent_name:
        return f"{', '.join(arguments.subagent_name)}: no task was given to it yet."
    if not ids:
        ids = [run.run_id for run in manager.runs.live() if run.owner == turn.asker.owner]
    if not ids:
        return "No task of yours is running. Use `list_subagents` to see who there is."
    seconds = min(arguments.timeout, context.seconds_left())
    outcome = await manager.wait(ids, turn, mode=arguments.mode, timeout_seconds=seconds)
    return _reply(context, outcome, seconds)


def _reply(context: CallContext, outcome: WaitOutcome, seconds: float) -> str:
    parts: list[str] = []
    if outcome.finished:
        parts.append(reports(outcome.finished, limit=context.manager.settings.result_maxlen))
    if outcome.unfinished:
        reason = (
            "The sub-agents plugin is being reloaded; these tasks go on"
            if outcome.closing
            else f"Not finished ({seconds:.0f} s waited at most)"
        )
        lines = progress_of(outcome.unfinished, context.manager.runs.position)
        parts.append(f"{reason}:\n{lines}")
        parts.append(
            "Do not wait again and again: go on with other work or end your turn; these results "
            "are delivered to you when they are there."
        )
    return "\n\n".join(parts)


WAIT = ToolSpec(
    name="wait_for_subagent",
    description="Wait for sub-agents' tasks and get their results. Name all task ids in one call.",
    arguments=WaitArguments,
    handler=wait,
)
