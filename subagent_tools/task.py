"""`task`: one call, many runs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..manager import NewTask, Run, RunState, Settings, WaitOutcome
from ..manager.settings import TaskSettings
from ..manager.task_shape import AgentType
from ..manager.tool_filter import BUILT_IN_FILTERS
from .arguments import Arguments
from .delivering import how_delivered
from .reports import progress_of, reports, why_unfinished
from .spec import CallContext, ToolSpec, plain_schema

_DELIVERY = (
    "The results are delivered to you together when all of them are there; collect them earlier "
    "with `wait_for_subagent` and the group_id."
)


def _as_text(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _as_texts(value: Any) -> Any:
    return [_as_text(each) for each in value] if isinstance(value, list) else [_as_text(value)]


class OneTask(Arguments):
    """One of the tasks."""

    id: Annotated[
        str,
        # before what makes a number a text, so that the error speaks of characters
        Field(max_length=64),
        BeforeValidator(_as_text),
        Field(description="Your short name for it; left out: its number, from 1."),
    ] = ""
    task: Annotated[
        str,
        AfterValidator(_not_blank),
        Field(
            description="The whole task. A fork sees this conversation; everyone else sees only "
            "this text.",
        ),
    ]
    agent: Annotated[
        str | None, Field(description="A sub-agent by name; left out: an unnamed copy of you.")
    ] = None
    agent_type: Annotated[
        Literal["react", "reflection", "plan", "simple"] | None,
        Field(
            description="How a fresh copy works. react: reasons and acts (default). reflection: "
            "drafts, criticises, improves. plan: plans first, then carries out. simple: one "
            "answer, no tools. Not with agent or fork."
        ),
    ] = None
    tool_filter: Annotated[str | None, Field(description="Which of its tools it may use.")] = None
    max_steps: Annotated[
        int | None,
        Field(
            description="Most model calls, all phases together: at least 1; 2 for plan, 3 for "
            "reflection."
        ),
    ] = None
    context: Annotated[
        Literal["fresh", "fork"],
        Field(
            description="fresh: it knows only its task. fork: a copy of you that has read this "
            "conversation; its tools are as tool_filter allows, and it cannot start others."
        ),
    ] = "fresh"
    depends_on: Annotated[
        tuple[str, ...],
        BeforeValidator(_as_texts),
        Field(description="Ids of tasks of this call whose results it needs; it starts after."),
    ] = ()


class TaskArguments(Arguments):
    """What `task` takes: one of the two, and how to wait."""

    task: Annotated[
        Annotated[str, AfterValidator(_not_blank)] | None,
        Field(description="A single task, done by a fresh copy of you."),
    ] = None
    tasks: Annotated[
        tuple[OneTask, ...] | None,
        Field(description="Or several. All that do not depend on each other run side by side."),
    ] = None
    background_task: Annotated[
        bool, Field(description="true: return ids at once. false: wait for the results.")
    ] = False

    @model_validator(mode="after")
    def _one_of_both(self) -> "TaskArguments":
        if (self.task is None) == (self.tasks is None):
            raise ValueError("give either `task` or `tasks`")
        return self


async def run_tasks(context: CallContext, arguments: TaskArguments) -> str:
    """Start the tasks, wait as long as the host lets us, and report."""
    manager, turn = context.manager, context.turn
    runs = await manager.start_tasks(
        _new_tasks(arguments),
        turn,
        background=arguments.background_task,
        fork_context=context.fork_context,
    )
    if arguments.background_task:
        return f"{_started(context, runs)}\n{how_delivered(_DELIVERY, turn)}"
    seconds = context.seconds_left()
    ids = [run.run_id for run in runs]
    outcome = await manager.wait(ids, turn, timeout_seconds=seconds)
    for run in outcome.unfinished:
        manager.hand_over(run.run_id, turn)
    return _reply(context, outcome, seconds)


def _new_tasks(arguments: TaskArguments) -> list[NewTask]:
    if arguments.tasks is None:
        return [NewTask(task=arguments.task or "")]
    return [
        NewTask(
            task=each.task,
            label=each.id,
            agent=each.agent,
            agent_type=AgentType(each.agent_type) if each.agent_type else None,
            tool_filter=each.tool_filter,
            max_steps=each.max_steps,
            context=each.context,
            depends_on=each.depends_on,
        )
        for each in arguments.tasks
    ]


def _started(context: CallContext, runs: Sequence[Run]) -> str:
    lines = progress_of(runs, context.manager.runs.position)
    return f"group_id: {runs[0].group_id}\n{lines}"


def _reply(context: CallContext, outcome: WaitOutcome, seconds: float) -> str:
    finished, unfinished = outcome.finished, outcome.unfinished
    done = sum(run.state is RunState.COMPLETED for run in finished)
    group_id = (*finished, *unfinished)[0].group_id
    total = len(finished) + len(unfinished)
    parts = [f"group_id: {group_id}\n{done} of {total} tasks completed."]
    rest = _going_on(context, outcome, seconds) if unfinished else ""
    if finished:
        limit = context.manager.settings.result_maxlen
        parts.append(reports(finished, limit=limit, beside=len(rest)))
    return "\n\n".join([*parts, rest] if rest else parts)


def _going_on(context: CallContext, outcome: WaitOutcome, seconds: float) -> str:
    reason = why_unfinished(outcome, seconds)
    lines = progress_of(outcome.unfinished, context.manager.runs.position)
    return f"{reason}:\n{lines}\n{how_delivered(_DELIVERY, context.turn)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec(ToolSpec[TaskArguments]):
    """The tool, with the filters of this bot in its schema."""

    settings: TaskSettings

    @property
    def parameters(self) -> dict[str, Any]:
        """See `ToolSpec.parameters`."""
        schema = plain_schema(self.arguments)
        one = schema["properties"]["tasks"]["items"]["properties"]
        custom = (each.name for each in self.settings.custom_filters)
        one["tool_filter"] |= {
            "enum": [*BUILT_IN_FILTERS, *custom],
            "description": (
                "Which of its tools it may use. readonly: only those that read. full: all but "
                "shells and the like. none: no filter. Left out: "
                f"`{self.settings.default_tool_filter}`; for a named sub-agent no filter."
            ),
        }
        return schema


def task_tool(settings: Settings) -> ToolSpec[TaskArguments]:
    """The tool as this bot has it."""
    return TaskSpec(
        name="task",
        description=(
            "Do several tasks side by side with one call, and get all results in one reply, in "
            f"the order given. At most {settings.task.max_tasks_per_call} tasks in a call."
        ),
        arguments=TaskArguments,
        handler=run_tasks,
        settings=settings.task,
    )
