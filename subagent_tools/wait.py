"""`wait_for_subagent`: collect results; nothing polls."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ..manager import RunState, WaitOutcome
from .arguments import Arguments
from .reports import progress_of, reports, why_unfinished
from .spec import CallContext, ToolSpec

_ANSWER = "Answer what is asked; ask the user if only the user can know."
_LATER = (
    "Do not wait again and again: go on with other work or end your turn; these results are "
    "delivered to you when they are there."
)


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
        ids += await manager.reader.unfinished_or_newest(arguments.subagent_name, turn.asker)
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
    rest = _rest(context, outcome, seconds)
    if not outcome.finished:
        return rest
    limit = context.manager.settings.result_maxlen
    finished = reports(outcome.finished, limit=limit, beside=len(rest))
    return f"{finished}\n\n{rest}" if rest else finished


def _rest(context: CallContext, outcome: WaitOutcome, seconds: float) -> str:
    """What is said of runs that go on."""
    if not outcome.unfinished:
        return ""
    lines = progress_of(outcome.unfinished, context.manager.runs.position)
    asks = any(run.state is RunState.WAITING for run in outcome.unfinished)
    reason = why_unfinished(outcome, seconds)
    return f"{reason}:\n{lines}\n\n{_ANSWER if asks else _LATER}"


WAIT = ToolSpec(
    name="wait_for_subagent",
    description="Wait for sub-agents' tasks and get their results. Name all task ids in one call.",
    arguments=WaitArguments,
    handler=wait,
)
