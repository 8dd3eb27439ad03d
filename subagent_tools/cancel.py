"""`cancel_subagent_task`: stop work that is under way."""

from typing import Annotated

from pydantic import Field, model_validator

from ..manager import Run, RunState
from .arguments import Arguments
from .reports import reports
from .spec import CallContext, ToolSpec


class CancelArguments(Arguments):
    """What `cancel_subagent_task` takes: one of the two."""

    task_id: Annotated[str, Field(description="The task to stop.")] = ""
    subagent_name: Annotated[
        str, Field(description="Or the sub-agent all of whose tasks are to stop.")
    ] = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> "CancelArguments":
        if bool(self.task_id) == bool(self.subagent_name):
            raise ValueError("give either `task_id` or `subagent_name`")
        return self


async def cancel(context: CallContext, arguments: CancelArguments) -> str:
    """Stop tasks; the reply carries what they had."""
    manager, turn = context.manager, context.turn
    if arguments.task_id:
        stopped = await manager.cancel(arguments.task_id, turn.asker)
    else:
        stopped = await manager.cancel_agent(arguments.subagent_name, turn.asker)
    if not stopped:
        return f"Nothing to stop: {arguments.subagent_name} has no unfinished task."
    manager.hand(stopped, turn)
    return _reply(stopped, context.manager.settings.result_maxlen)


def _reply(stopped: list[Run], limit: int) -> str:
    late = any(run.state is not RunState.CANCELLED for run in stopped)
    head = "Over now; what was not stopped had just come to its own end." if late else "Stopped."
    return f"{head}\n\n{reports(stopped, limit=limit)}"


CANCEL = ToolSpec(
    name="cancel_subagent_task",
    description="Stop a task, or all tasks of a sub-agent. You get what it had so far.",
    arguments=CancelArguments,
    handler=cancel,
)
