"""The task desk: one call of the `task` tool becomes a group of runs, all of them or none.

Everything that can be refused is refused before anything starts. What a run of it is given is made
in `copies.py` and `preparation.py` when it starts; what it waits for is `runs/graph.py`'s.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .delegation import Delegation
from .errors import FeatureOff, InvalidArgument, SubAgentError
from .fork_context import ForkContext
from .models import ConversationId, GroupId, Run, RunId, RunKind, SessionId, Turn
from .runs.desk import RunDesk
from .runs.graph import Node, check_graph
from .runs.phases import least_steps
from .services import Services
from .settings import Settings
from .task_shape import AgentType, TaskShape
from .tool_filter import find_filter

type ForkContexts = Callable[[GroupId, SessionId], ForkContext | None]
"""Gives what the main agent's model was sent in this turn; None: the host does not show it."""


def no_fork_context(group_id: GroupId, session: SessionId) -> ForkContext | None:
    """A host that shows nothing of the main agent's requests."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """One task of a call; None is what was left out."""

    task: str
    label: str = ""
    """Its id in the call; "" is its number, from 1."""
    agent: str | None = None
    """A named agent; None is an unnamed copy."""
    agent_type: AgentType | None = None
    tool_filter: str | None = None
    max_steps: int | None = None
    context: Literal["fresh", "fork"] = "fresh"
    depends_on: tuple[str, ...] = ()
    """Labels of the same call."""


class TaskDesk:
    """Starts groups of runs."""

    def __init__(
        self, session: SessionId, services: Services, runs: RunDesk, delegation: Delegation
    ) -> None:
        self._session = session
        self._services = services
        self._runs = runs
        self._delegation = delegation

    async def start(
        self,
        tasks: Sequence[NewTask],
        turn: Turn,
        *,
        background: bool,
        fork_context: ForkContexts,
    ) -> list[Run]:
        """Start all tasks of a call; see `SubAgentManager.start_tasks`."""
        settings = self._services.settings()
        if not settings.task.enabled:
            raise FeatureOff("The tool `task`", key="task.enabled")
        self._check(tasks, settings)
        tasks = [_labelled(task, number) for number, task in enumerate(tasks, start=1)]
        group_id = GroupId(self._services.clock.new_id())
        shapes = [_shape(task, at, settings) for at, task in enumerate(tasks)]
        runs = self._runs_of(tasks, shapes, turn, group_id, background=background)
        self._refuse_doubles(runs)
        fork = self._fork(runs, group_id, fork_context)
        self._delegation.count_starts(turn, len(runs))
        ids = {run.run_id for run in runs}
        if not background:
            turn.children |= ids
        try:
            return await self._runs.start_group(runs, settings, fork=fork)
        except SubAgentError:
            turn.starts -= len(runs)
            turn.children -= ids
            raise

    def _check(self, tasks: Sequence[NewTask], settings: Settings) -> None:
        most = settings.task.max_tasks_per_call
        if not tasks:
            raise InvalidArgument("tasks", "is empty; give at least one task")
        if len(tasks) > most:
            problem = f"has {len(tasks)} tasks; at most {most} (setting `task.max_tasks_per_call`)"
            raise InvalidArgument("tasks", problem)
        for at, task in enumerate(tasks):
            if not task.task.strip():
                raise InvalidArgument(f"tasks[{at}].task", "must not be empty")
        check_graph([_node(task, number) for number, task in enumerate(tasks, start=1)])

    def _runs_of(
        self,
        tasks: Sequence[NewTask],
        shapes: Sequence[TaskShape],
        turn: Turn,
        group_id: GroupId,
        *,
        background: bool,
    ) -> list[Run]:
        ids = {task.label: RunId(self._services.clock.new_id()) for task in tasks}
        origin, now = self._delegation.origin(turn), self._services.clock.now()
        runs: list[Run] = []
        for task, shape in zip(tasks, shapes, strict=True):
            run_id = ids[task.label]
            agent = self._delegation.agent(task.agent, turn) if task.agent is not None else None
            runs.append(
                Run(
                    run_id=run_id,
                    session=self._session,
                    agent=agent.name if agent else None,
                    conversation=agent.conversation if agent else ConversationId(run_id),
                    kind=_kind(task),
                    group_id=group_id,
                    background=background,
                    depends_on=tuple(ids[label] for label in dict.fromkeys(task.depends_on)),
                    task=shape,
                    input=task.task,
                    owner=turn.asker.owner,
                    origin=origin,
                    created_at=now,
                )
            )
        return runs

    def _refuse_doubles(self, runs: Sequence[Run]) -> None:
        """Refuse what a named agent is working on already; doubles of one call are meant."""
        for run in runs:
            if run.agent is not None:
                self._delegation.refuse_double(run.agent, run.input, (), run.owner)

    def _fork(
        self, runs: Sequence[Run], group_id: GroupId, fork_context: ForkContexts
    ) -> ForkContext | None:
        if all(run.kind is not RunKind.FORK for run in runs):
            return None
        fork = fork_context(group_id, self._session)
        if fork is None:
            raise FeatureOff("`context: fork`")
        return fork


def _labelled(task: NewTask, number: int) -> NewTask:
    """The task with its own label and those of its predecessors as they are compared."""
    depends_on = tuple(label.strip() for label in task.depends_on)
    return replace(task, label=task.label.strip() or str(number), depends_on=depends_on)


def _node(task: NewTask, number: int) -> Node:
    labelled = _labelled(task, number)
    return Node(
        label=labelled.label,
        depends_on=labelled.depends_on,
        is_numbered=not task.label.strip(),
    )


def _kind(task: NewTask) -> RunKind:
    if task.agent is not None:
        return RunKind.DELEGATE
    return RunKind.FORK if task.context == "fork" else RunKind.TASK


def _shape(task: NewTask, at: int, settings: Settings) -> TaskShape:
    """How a task is carried out; options that would do nothing are refused."""
    place = f"tasks[{at}]"
    _refuse_dead_options(task, place)
    agent_type = task.agent_type or AgentType.REACT
    tool_filter = "" if task.agent is not None else settings.task.default_tool_filter
    if task.tool_filter is not None:
        tool_filter = find_filter(task.tool_filter, settings.task).name
    if agent_type is AgentType.SIMPLE:
        tool_filter = ""
    return TaskShape(
        label=task.label,
        position=at,
        agent_type=agent_type,
        tool_filter=tool_filter,
        max_steps=_max_steps(task, agent_type, place, settings),
    )


def _refuse_dead_options(task: NewTask, place: str) -> None:
    if task.agent is not None and task.context == "fork":
        problem = "`fork` is a copy of the main agent; leave out `context` or `agent`"
        raise InvalidArgument(f"{place}.context", problem)
    if task.agent_type is not None and task.agent is not None:
        problem = "is for unnamed copies; a named sub-agent works in its own way"
        raise InvalidArgument(f"{place}.agent_type", problem)
    if task.agent_type is not None and task.context == "fork":
        raise InvalidArgument(f"{place}.agent_type", "cannot be combined with `context: fork`")
    if task.agent_type is AgentType.SIMPLE and task.tool_filter is not None:
        problem = "does nothing: an agent of type `simple` has no tools"
        raise InvalidArgument(f"{place}.tool_filter", problem)


def _max_steps(task: NewTask, agent_type: AgentType, place: str, settings: Settings) -> int:
    """Model calls of a task; 0 is the setting."""
    if agent_type is AgentType.SIMPLE:
        if task.max_steps not in (None, 1):
            problem = "must be 1 or left out: an agent of type `simple` answers once"
            raise InvalidArgument(f"{place}.max_steps", problem)
        return 1
    least, most = least_steps(agent_type), settings.max_steps
    if task.max_steps is None and most < least:
        raise InvalidArgument(
            f"{place}.agent_type",
            f"`{agent_type}` needs {least} model calls; the setting `max_steps` allows {most}",
        )
    if task.max_steps is None:
        return 0
    if not least <= task.max_steps <= most:
        problem = f"must be {least} to {most} for `{agent_type}` (most: the setting `max_steps`)"
        raise InvalidArgument(f"{place}.max_steps", problem)
    return task.max_steps
