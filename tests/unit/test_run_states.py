"""The transition table of a run, and how each way to end comes out."""

import itertools

import pytest

from astrbot_plugin_subagents.manager import Run, RunId, RunState, SessionId, StopReason
from astrbot_plugin_subagents.manager.errors import AgentNotFound, IllegalTransition
from astrbot_plugin_subagents.manager.host import AgentOutcome
from astrbot_plugin_subagents.manager.models import (
    TERMINAL,
    ConversationId,
    Failure,
    OwnerId,
    Usage,
)
from astrbot_plugin_subagents.manager.runs.budget import LimitHit
from astrbot_plugin_subagents.manager.runs.endings import broken, ended, stopped
from astrbot_plugin_subagents.manager.runs.state import TRANSITIONS, advance
from astrbot_plugin_subagents.manager.testing import EPOCH
from support.core import replace

QUEUED, RUNNING, WAITING = RunState.QUEUED, RunState.RUNNING, RunState.WAITING
ALLOWED = {
    (QUEUED, RUNNING),
    (QUEUED, RunState.FAILED),
    (QUEUED, RunState.CANCELLED),
    (QUEUED, RunState.INTERRUPTED),
    (RUNNING, WAITING),
    (RUNNING, QUEUED),
    (WAITING, RUNNING),
    (WAITING, QUEUED),
    *itertools.product((RUNNING, WAITING), TERMINAL),
}


def a_run(state: RunState = RUNNING) -> Run:
    return Run(
        run_id=RunId("r1"),
        session=SessionId("chat"),
        agent=None,
        conversation=ConversationId("c1"),
        state=state,
        input="Go.",
        owner=OwnerId("alice"),
        created_at=EPOCH,
        steps=2,
        usage=Usage(input=1),
        last_text="so far",
        cut_short="step_limit",
    )


@pytest.mark.parametrize(("old", "new"), list(itertools.product(RunState, RunState)))
def test_a_run_goes_only_where_the_table_says(old: RunState, new: RunState) -> None:
    run = a_run(old)

    if (old, new) in ALLOWED:
        assert advance(run, new, steps=3) == replace(run, state=new, steps=3)
        return
    with pytest.raises(IllegalTransition) as raised:
        advance(run, new)
    assert (raised.value.old, raised.value.new) == (old, new)


def test_the_table_knows_every_state_and_no_end_has_a_way_out() -> None:
    assert set(TRANSITIONS) == set(RunState)
    assert {state for state in RunState if not TRANSITIONS[state]} == TERMINAL
    assert {state for state in RunState if a_run(state).is_over} == TERMINAL


def test_an_answer_completes_the_run_and_is_its_text() -> None:
    run = a_run()

    assert ended(run, AgentOutcome(text="the answer"), EPOCH) == replace(
        run, state=RunState.COMPLETED, last_text="the answer", finished_at=EPOCH
    )


def test_an_empty_answer_keeps_the_newest_words() -> None:
    run = ended(a_run(), AgentOutcome(text=""), EPOCH)

    assert (run.state, run.last_text) == (RunState.COMPLETED, "so far")


def test_a_failure_of_the_model_fails_the_run_and_keeps_what_it_had() -> None:
    failure = Failure(code="provider_error", message="no model")
    run = a_run()

    assert ended(run, AgentOutcome(text="odd", failure=failure), EPOCH) == replace(
        run, state=RunState.FAILED, failure=failure, finished_at=EPOCH, cut_short=""
    )


@pytest.mark.parametrize(
    ("reason", "state", "code"),
    [
        (StopReason.USER, RunState.CANCELLED, "cancelled"),
        (StopReason.MAIN_AGENT, RunState.CANCELLED, "cancelled"),
        (StopReason.TURN, RunState.CANCELLED, "cancelled"),
        (StopReason.PLUGIN_OFF, RunState.CANCELLED, "cancelled"),
        (StopReason.TIMEOUT, RunState.TIMED_OUT, "timeout"),
        (StopReason.IDLE, RunState.TIMED_OUT, "idle"),
        (StopReason.BUDGET, RunState.FAILED, "token_budget"),
        (StopReason.SHUTDOWN, RunState.INTERRUPTED, "interrupted"),
    ],
)
def test_a_stop_keeps_what_the_run_had_and_says_why(
    reason: StopReason, state: RunState, code: str
) -> None:
    run = stopped(a_run(), reason, EPOCH)

    assert run.failure is not None
    assert (run.state, run.failure.code, run.finished_at) == (state, code, EPOCH)
    assert (run.last_text, run.steps, run.usage) == ("so far", 2, Usage(input=1))


def test_every_reason_for_a_stop_has_an_end() -> None:
    assert {stopped(a_run(), reason, EPOCH).is_over for reason in StopReason} == {True}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LimitHit(Failure(code="step_limit", message="no more")), "step_limit"),
        (AgentNotFound("scout", []), "agent_not_found"),
        (RuntimeError("boom"), "internal_error"),
    ],
)
def test_a_fault_fails_the_run_with_its_code(error: Exception, code: str) -> None:
    run = broken(a_run(QUEUED), error, EPOCH)

    assert run.failure is not None
    assert (run.state, run.failure.code) == (RunState.FAILED, code)
