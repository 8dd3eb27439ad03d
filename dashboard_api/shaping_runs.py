"""From the core's records to what the API replies: runs."""

from typing import Any

from ..manager.models import DeliveryState, Run, RunKind, RunState
from .replies import (
    ActionsReply,
    ArtifactReply,
    FailureReply,
    OriginReply,
    RunDetail,
    RunRow,
    ToolUseReply,
)
from .shaping import usage_reply

_BEGINNING = 300


def run_row(run: Run, *, delivery: DeliveryState | None, position: int | None) -> RunRow:
    """A run for a list.

    Args:
        run: As it stands.
        delivery: Where its result stands.
        position: Its place in the line.
    """
    return RunRow(**_row(run, delivery, position))


def run_detail(
    run: Run, *, delivery: DeliveryState | None, position: int | None, max_steps: int
) -> RunDetail:
    """A run, whole.

    Args:
        run: As it stands.
        delivery: Where its result stands.
        position: Its place in the line.
        max_steps: How many model calls the settings of now allow.
    """
    values = _row(run, delivery, position) | {
        "input": run.input,
        "last_text": run.last_text,
        "image_urls": list(run.image_urls),
        "tools_given": run.tools_given,
        "tools_used": [
            ToolUseReply(name=use.name, calls=use.calls, errors=use.errors)
            for use in run.tools_used
        ],
        "artifacts": [
            ArtifactReply(kind=each.kind, name=each.name, path=each.path) for each in run.artifacts
        ],
        "origin": OriginReply(
            adapter=run.origin.adapter,
            sender_name=run.origin.sender_name,
            group_id=run.origin.group_id,
            persona_id=run.origin.persona_id,
            message_type=run.origin.message_type,
        ),
        "actions": _actions(run),
        "max_steps": (run.task.max_steps if run.task else 0) or max_steps,
        "filter": (run.task.tool_filter or None) if run.task else None,
    }
    return RunDetail(**values)


def _row(run: Run, delivery: DeliveryState | None, position: int | None) -> dict[str, Any]:
    is_copy = run.agent is None and run.task is not None
    return {
        "run_id": run.run_id,
        "session": run.session,
        "agent": run.agent,
        "kind": run.kind,
        "agent_type": run.task.agent_type.value if run.task and is_copy else None,
        "context": _context(run) if is_copy else None,
        "group_id": run.group_id,
        "depends_on": list(run.depends_on),
        "parent": run.parent,
        "state": run.state,
        "background": run.background,
        "input": run.input[:_BEGINNING],
        "owner": run.owner,
        "owner_name": run.origin.sender_name or None,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "steps": run.steps,
        "usage": usage_reply(run.usage),
        "model": run.model,
        "question": run.question,
        "failure": run.failure and FailureReply(code=run.failure.code, message=run.failure.message),
        "cut_short": run.cut_short,
        "delivery": delivery,
        "position": position,
        "executor": run.executor,
    }


def _context(run: Run) -> str:
    return "fork" if run.kind is RunKind.FORK else "fresh"


def _actions(run: Run) -> ActionsReply:
    return ActionsReply(
        cancel=not run.is_over,
        steer=not run.is_over,
        answer=run.state is RunState.WAITING,
        retry=run.is_over,
    )
