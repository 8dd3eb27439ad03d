"""A child whose context is full: AstrBot shortens what is sent, never what is kept."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager.host import AgentOutcome
from standin.protocol import message_text
from support.child_stage import ChildStage
from support.replies import call, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_compression_never_takes_the_task_away(stage: ChildStage) -> None:
    history = tuple(
        {"role": role, "content": f"{role} {number}"}
        for number in range(20)
        for role in ("user", "assistant")
    )
    await stage.bot.configure(extra=_at_most_turns(3))

    outcome, seen = await stage.drive(
        call("search", {"text": "one"}),
        call("search", {"text": "two"}),
        call("search", {"text": "three"}),
        say("ok"),
        history=history,
    )

    assert outcome == AgentOutcome(text="ok")
    for request in stage.model.requests_of("scout"):
        contents = [each["content"] for each in request.messages]
        assert "the task" in contents
        assert len(contents) < len(history)
    kept = ["user", *["assistant", "tool"] * 3, "assistant"]
    assert [body["role"] for body in seen.messages] == kept


async def test_a_full_context_is_summed_up_and_the_summary_is_not_kept(
    stage: ChildStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = (
        {"role": "user", "content": "words " * 9_000},
        {"role": "assistant", "content": "words " * 9_000},
    )
    provider = stage.bot.context.get_provider_by_id("scripted")
    monkeypatch.setitem(provider.provider_config, "max_context_tokens", 0)
    await stage.bot.configure(extra=_summed_up_at(20_000))
    stage.model.role("summary", _asks_for_summary, say("it was about words"))

    outcome, seen = await stage.drive(call("search"), say("ok"), history=history)

    assert outcome == AgentOutcome(text="ok")
    contents = _texts(stage)
    assert any("it was about words" in text for text in contents)
    assert "the task" in contents
    assert not any("about words" in str(body["content"]) for body in seen.messages)
    assert provider.provider_config["max_context_tokens"] == 0


def _texts(stage: ChildStage) -> list[str]:
    return [message_text(each) for each in stage.model.requests_of("scout")[0].messages]


def _asks_for_summary(request: Any) -> bool:
    return "Generate a summary" in request.last_user_text()


def _at_most_turns(count: int) -> dict[str, Any]:
    return {
        "provider_settings": {"max_context_length": count, "dequeue_context_length": 1},
        "agent_runner": {"config": {"compression": {"max_turns": count, "trim_turns": 1}}},
    }


def _summed_up_at(tokens: int) -> dict[str, Any]:
    return {
        "provider_settings": {
            "context_limit_reached_strategy": "llm_compress",
            "fallback_max_context_tokens": tokens,
        },
        "agent_runner": {
            "config": {
                "compression": {
                    "overflow_strategy": "llm_compress",
                    "fallback_max_tokens": tokens,
                }
            }
        },
    }
