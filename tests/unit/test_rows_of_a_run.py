"""Where nothing can be stored of a run's conversation, nobody looks."""

from dataclasses import replace

from astrbot_plugin_subagents.manager.models import (
    AgentName,
    ConversationId,
    OwnerId,
    Run,
    RunId,
    RunKind,
    SessionId,
)
from astrbot_plugin_subagents.manager.runs.resume import may_have_rows
from astrbot_plugin_subagents.manager.testing import EPOCH

COPY = Run(
    run_id=RunId("copy"),
    session=SessionId("s"),
    agent=None,
    conversation=ConversationId("copy"),
    kind=RunKind.TASK,
    input="Look it up.",
    owner=OwnerId("alice"),
    created_at=EPOCH,
    fence=1,
)


def test_a_copy_that_begins_has_no_rows() -> None:
    assert not may_have_rows(COPY)


def test_a_copy_that_is_taken_up_again_may_have_rows() -> None:
    assert may_have_rows(replace(COPY, fence=2))


def test_a_copy_whose_model_has_answered_may_have_rows() -> None:
    assert may_have_rows(replace(COPY, steps=1))


def test_a_run_in_the_memory_of_its_agent_may_find_rows_of_others() -> None:
    memory = ConversationId("memory")
    assert may_have_rows(replace(COPY, agent=AgentName("scout"), conversation=memory))
