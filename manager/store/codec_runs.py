"""Rows <-> runs, their journal and their deliveries.

Writing gives a dictionary of column values. Reading is strict: a row that no record can be made
of raises `DamagedRow` and is never guessed at. The other records are in `codec.py`.
"""

from dataclasses import asdict
from typing import Any

from sqlalchemy import Row

from ..models import (
    Artifact,
    Delivery,
    DeliveryState,
    Failure,
    Run,
    RunId,
    RunKind,
    RunState,
    RunStep,
    StepState,
    ToolUse,
    Usage,
)
from ..task_shape import AgentType, TaskShape
from .codec_origin import origin_text, read_origin
from .rows import Values, key_of, read_list, read_names, read_object, strict
from .texts import dump_json

RUN_FIXED = (
    "run_id",
    "session",
    "agent",
    "kind",
    "parent",
    "group_id",
    "depends_on",
    "task",
    "input",
    "image_urls",
    "owner",
    "origin",
    "created_at",
)
"""Fields of a run that are written once: what was asked, by whom and where."""


def run_values(run: Run) -> Values:
    """The row of a new run."""
    return {
        "run_id": run.run_id,
        "session": run.session,
        "agent": run.agent,
        "agent_key": None if run.agent is None else key_of(run.agent),
        "kind": run.kind.value,
        "parent": run.parent,
        "group_id": run.group_id,
        "depends_on": dump_json(run.depends_on),
        "task": None if run.task is None else dump_json(asdict(run.task)),
        "input": run.input,
        "image_urls": dump_json(run.image_urls),
        "owner": run.owner,
        "origin": origin_text(run.origin),
        "created_at": run.created_at,
        "fence": run.fence,
        **run_changes(run),
    }


def run_changes(run: Run) -> Values:
    """What changes in the life of a run: all but `RUN_FIXED` and the fence."""
    return {
        "conversation": run.conversation,
        "background": run.background,
        "state": run.state.value,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "model": run.model,
        "steps": run.steps,
        "input_tokens": run.usage.input,
        "cached_tokens": run.usage.cached,
        "output_tokens": run.usage.output,
        "tools_given": run.tools_given,
        "tools_used": dump_json(
            [{"name": use.name, "calls": use.calls, "errors": use.errors} for use in run.tools_used]
        ),
        "last_text": run.last_text,
        "artifacts": dump_json(
            [{"kind": made.kind, "path": made.path, "name": made.name} for made in run.artifacts]
        ),
        "question": run.question,
        "cut_short": run.cut_short,
        "failure_code": run.failure.code if run.failure else None,
        "failure_message": run.failure.message if run.failure else None,
        "executor": run.executor,
    }


@strict("run")
def read_run(row: Row[Any]) -> Run:
    """The run of a row."""
    return Run(
        run_id=row.run_id,
        session=row.session,
        agent=row.agent,
        conversation=row.conversation,
        kind=RunKind(row.kind),
        parent=row.parent,
        group_id=row.group_id,
        depends_on=tuple(map(RunId, read_names(row.depends_on))),
        task=None if row.task is None else _task(row.task),
        background=row.background,
        state=RunState(row.state),
        input=row.input,
        image_urls=read_names(row.image_urls),
        owner=row.owner,
        origin=read_origin(row.origin),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        model=row.model,
        steps=row.steps,
        usage=Usage(input=row.input_tokens, cached=row.cached_tokens, output=row.output_tokens),
        tools_given=row.tools_given,
        tools_used=tuple(ToolUse(**use) for use in read_list(row.tools_used)),
        last_text=row.last_text,
        artifacts=tuple(Artifact(**made) for made in read_list(row.artifacts)),
        question=row.question,
        cut_short=row.cut_short,
        failure=_failure(row),
        executor=row.executor,
        fence=row.fence,
    )


def step_values(step: RunStep) -> Values:
    """The row of a journal entry."""
    return {
        "run_id": step.run_id,
        "key": step.key,
        "name": step.name,
        "arguments": step.arguments,
        "state": step.state.value,
        "output": step.output,
        "is_error": step.is_error,
        "at": step.at,
    }


@strict("step")
def read_step(row: Row[Any]) -> RunStep:
    """The journal entry of a row."""
    return RunStep(
        run_id=row.run_id,
        key=row.key,
        name=row.name,
        arguments=row.arguments,
        state=StepState(row.state),
        output=row.output,
        is_error=row.is_error,
        at=row.at,
    )


def delivery_values(delivery: Delivery) -> Values:
    """The row of a delivery."""
    return {
        "delivery_id": delivery.delivery_id,
        "session": delivery.session,
        "owner": delivery.owner,
        "state": delivery.state.value,
        "taker": delivery.taker,
        "lease_until": delivery.lease_until,
        "attempts": delivery.attempts,
        "created_at": delivery.created_at,
    }


@strict("delivery")
def read_delivery(row: Row[Any]) -> Delivery:
    """The delivery of a row."""
    return Delivery(
        delivery_id=row.delivery_id,
        session=row.session,
        owner=row.owner,
        state=DeliveryState(row.state),
        taker=row.taker,
        lease_until=row.lease_until,
        attempts=row.attempts,
        created_at=row.created_at,
    )


def _task(text: str) -> TaskShape:
    found = read_object(text)
    return TaskShape(**{**found, "agent_type": AgentType(found["agent_type"])})


def _failure(row: Row[Any]) -> Failure | None:
    if row.failure_code is None:
        return None
    return Failure(code=row.failure_code, message=row.failure_message)
