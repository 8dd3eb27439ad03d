"""`read_subagent_result`: the full text of a result that was cut."""

from typing import Annotated

from pydantic import Field

from ..manager.fence import fenced
from .arguments import Arguments
from .reports import facts, files_made, one_line
from .spec import CallContext, ToolSpec


class ReadArguments(Arguments):
    """What `read_subagent_result` takes."""

    task_id: Annotated[str, Field(description="The finished task.")]
    offset: Annotated[int, Field(ge=0, description="Character to begin with, from 0.")] = 0
    limit: Annotated[int, Field(ge=1, le=100_000, description="Characters to read at most.")] = 8000


async def read_result(context: CallContext, arguments: ReadArguments) -> str:
    """A part of a finished run's text."""
    run = await context.manager.result(arguments.task_id, context.turn)
    text, begin = run.last_text, arguments.offset
    if begin and begin >= len(text):
        return f"Error: `offset` {begin} is behind the end: the result has {len(text)} characters."
    part = text[begin : begin + arguments.limit]
    end = begin + len(part)
    head = f"task_id: {run.run_id}\nstate: {run.state}\nfacts: {facts(run)}\n"
    if run.failure is not None:
        head += f"reason: {one_line(run.failure.message, 300)} [{run.failure.code}]\n"
    head += "".join(f"{line}\n" for line in files_made(run))
    if not text:
        return f"{head}It wrote no text."
    rest = f" Go on with offset {end}." if end < len(text) else " This is the end."
    shown = fenced(part, what="result")
    return f"{head}characters {begin} to {end} of {len(text)}.{rest}\n{shown}"


READ_RESULT = ToolSpec(
    name="read_subagent_result",
    description="Read the full text of a finished task's result, piece by piece.",
    arguments=ReadArguments,
    handler=read_result,
    only_reads=True,
)
