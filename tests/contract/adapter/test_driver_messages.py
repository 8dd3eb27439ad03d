"""What of a step is kept and sent again, on AstrBot's own messages."""

import importlib
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.host import AgentOutcome
from standin.protocol import ChatReply, ToolCall
from support.child_stage import ChildStage
from support.replies import call, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def messages(stage: ChildStage) -> Any:
    """The module, once AstrBot is there."""
    return importlib.import_module("astrbot_plugin_subagents.plugin.child_messages")


async def test_calls_that_share_an_id_are_told_apart(stage: ChildStage) -> None:
    same = tuple(ToolCall(id="search", name="search", arguments={"text": t}) for t in ("a", "b"))

    outcome, seen = await stage.drive(ChatReply(tool_calls=same), say("ok"))

    assert outcome == AgentOutcome(text="ok")
    assert [each.call_id for each in seen.told("tool_started")] == ["search", "search#2"]
    told = [(each.call_id, each.output) for each in seen.told("tool_finished")]
    assert told == [("search", "found a"), ("search#2", "found b")]
    assert [body.get("tool_call_id") for body in seen.messages[2:4]] == ["search", "search"]


async def test_every_call_gets_an_answer(messages: Any) -> None:
    asking = _asking("one", "two", "two")
    answer = _message("tool", "found", tool_call_id="two")

    settled = messages.settle([asking, answer])

    assert [each.tool_call_id for each in settled] == [None, "two", "one", "two"]
    assert "was not run" in settled[2].content


async def test_a_step_that_is_whole_stays_as_it_is(messages: Any) -> None:
    step = [_asking("one"), _message("tool", "found", tool_call_id="one")]

    assert messages.settle(step) == step


async def test_thoughts_are_kept_for_models_that_want_them_back(messages: Any) -> None:
    parts = importlib.import_module("astrbot.core.agent.message")
    thought = parts.ThinkPart(think="hm", encrypted="signature")
    thinking = _message("assistant", [thought, parts.TextPart(text="yes")])

    (body,) = messages.kept_bodies(messages.settle([thinking]))

    assert body["content"] == [
        {"type": "think", "think": "hm", "encrypted": "signature"},
        {"type": "text", "text": "yes"},
    ]


async def test_a_tool_that_said_nothing_has_still_answered(stage: ChildStage) -> None:
    stage.plugin.plays.append(("", False, None))

    _, seen = await stage.drive(call("search"), say("ok"))

    assert [body["role"] for body in seen.messages] == ["user", "assistant", "tool", "assistant"]
    assert seen.messages[2]["content"] == ""


async def test_an_answer_without_words_is_not_kept(messages: Any) -> None:
    parts = importlib.import_module("astrbot.core.agent.message")

    assert messages.kept_bodies([_message("assistant", [parts.ThinkPart(think="hm")])]) == []


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("data:image/png;base64,AAAA", "[Image]"),
        ("base64://AAAA", "[Image]"),
        ("https://example.org/moon.png", "[Image: https://example.org/moon.png]"),
    ],
)
async def test_a_picture_is_kept_as_a_short_reference(
    stage: ChildStage, messages: Any, url: str, kept: str
) -> None:
    body = messages.user_turn_body(stage.request(image_urls=(url,)))

    assert body == {"role": "user", "content": f"the task\n{kept}"}


def _message(role: str, content: Any, **more: Any) -> Any:
    module = importlib.import_module("astrbot.core.agent.message")
    return module.Message(role=role, content=content, **more)


def _asking(*call_ids: str) -> Any:
    module = importlib.import_module("astrbot.core.agent.message")
    function = module.ToolCall.FunctionBody(name="search", arguments="{}")
    calls = [module.ToolCall(id=call_id, function=function) for call_id in call_ids]
    return _message("assistant", None, tool_calls=calls)
