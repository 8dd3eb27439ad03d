"""Texts that no provider takes, or that have no end, on their way to a child's model."""

import json

import pytest

from astrbot_plugin_subagents.manager.host import AgentOutcome
from standin.protocol import ChatReply, ToolCall
from support.child_stage import ChildStage
from support.replies import call, say
from support.script import tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_a_lone_surrogate_in_a_tools_output_does_not_end_the_run(stage: ChildStage) -> None:
    stage.plugin.plays.append(("before \ud800 after", False, None))

    outcome, seen = await stage.drive(call("search"), say("ok"))

    assert outcome == AgentOutcome(text="ok")
    assert tool_results(stage.model.requests_of("scout")[1]) == ["before \ufffd after"]
    assert seen.messages[2]["content"] == "before \ufffd after"


async def test_a_lone_surrogate_in_a_childs_own_words_does_not_end_the_run(
    stage: ChildStage,
) -> None:
    # as the model sends it: an escape that is half of a character
    asked = ToolCall(id="c1", name="search", arguments=json.dumps({"text": "x\udc00y"}))

    outcome, _ = await stage.drive(ChatReply(text="I look", tool_calls=(asked,)), say("ok"))

    assert outcome == AgentOutcome(text="ok")


async def test_a_result_without_end_is_cut_for_a_child_that_cannot_read_files(
    stage: ChildStage,
) -> None:
    stage.plugin.plays.append(("a" * 3_000_000 + "the end", False, None))

    outcome, seen = await stage.drive(call("search"), say("ok"))

    (result,) = tool_results(stage.model.requests_of("scout")[1])
    assert outcome == AgentOutcome(text="ok")
    assert len(result) < 101_000
    assert result.startswith("aaa")
    assert result.endswith("the end")
    assert "2900007 characters left out" in result
    assert seen.messages[2]["content"] == result
