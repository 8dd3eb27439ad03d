"""How a run ends: from what happened to its last state, in one place."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from ..errors import SubAgentError
from ..host import AgentOutcome
from ..models import Failure, Run, RunState, StopReason
from .budget import LimitHit
from .state import advance

_LONGEST_MESSAGE = 2_000
"""Characters kept of what a foreign error says of itself."""
_STOPPED: Mapping[StopReason, tuple[RunState, str, str]] = MappingProxyType(
    {
        StopReason.USER: (RunState.CANCELLED, "cancelled", "Stopped by the user."),
        StopReason.MAIN_AGENT: (RunState.CANCELLED, "cancelled", "Stopped by the main agent."),
        StopReason.TURN: (RunState.CANCELLED, "cancelled", "The turn that asked was stopped."),
        StopReason.PLUGIN_OFF: (
            RunState.CANCELLED,
            "cancelled",
            "Sub-agents were switched off for this chat.",
        ),
        StopReason.TIMEOUT: (
            RunState.TIMED_OUT,
            "timeout",
            "The time limit of a run is up (setting `execution_timeout`).",
        ),
        StopReason.IDLE: (
            RunState.TIMED_OUT,
            "idle",
            "Nothing happened for too long (setting `idle_timeout`).",
        ),
        StopReason.BUDGET: (RunState.FAILED, "token_budget", "The token budget is spent."),
        StopReason.SHUTDOWN: (
            RunState.INTERRUPTED,
            "interrupted",
            "The bot was stopped while this ran.",
        ),
    }
)


def ended(run: Run, outcome: AgentOutcome, at: datetime) -> Run:
    """The run after its child's loop has ended by itself."""
    if outcome.failure is not None:
        return _over(run, RunState.FAILED, outcome.failure, at)
    return advance(
        run,
        RunState.COMPLETED,
        last_text=outcome.text or run.last_text,
        finished_at=at,
        failure=None,
    )


def skipped(run: Run, failed: Run, at: datetime) -> Run:
    """The run that never began because one that it depends on did not complete."""
    label = failed.task.label if failed.task else failed.run_id
    why = f" ({failed.failure.code})" if failed.failure else ""
    message = f"Not started: it depends on task {label!r} ({failed.run_id}), which is "
    return _over(
        run,
        RunState.CANCELLED,
        Failure(code="skipped", message=f"{message}{failed.state}{why}."),
        at,
    )


def interrupted(run: Run, failure: Failure, at: datetime) -> Run:
    """The run after a restart of the bot that it does not survive."""
    return _over(run, RunState.INTERRUPTED, failure, at)


def stopped(run: Run, reason: StopReason, at: datetime) -> Run:
    """The run after it was stopped from outside."""
    state, code, message = _STOPPED[reason]
    return _over(run, state, Failure(code=code, message=message), at)


def broken(run: Run, error: BaseException, at: datetime) -> Run:
    """The run after a limit or a fault."""
    if isinstance(error, LimitHit):
        failure = error.failure
    elif isinstance(error, SubAgentError):
        failure = Failure(code=error.code, message=str(error))
    else:
        failure = Failure(code="internal_error", message=_said(error))
    return _over(run, RunState.FAILED, failure, at)


def _said(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}"[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - a foreign error whose text is broken too
        return name


def _over(run: Run, state: RunState, failure: Failure, at: datetime) -> Run:
    return advance(replace(run, cut_short=""), state, failure=failure, finished_at=at)
