"""AstrBot's settings for its agents, from the places where its versions keep them."""

from typing import Any

import pytest

from astrbot_plugin_subagents.plugin.host_settings import AgentSettings, read_agent_settings

NEW: dict[str, Any] = {
    "provider_settings": {
        "computer_use_runtime": "sandbox",
        "sandbox": {"booter": "cua"},
        "tool_call_timeout": 1,
    },
    "agent_runner": {
        "runner_type": "local",
        "config": {
            "model": {"fallback_provider_ids": ["spare"], "request_max_retries": 2},
            "compression": {
                "max_turns": 40,
                "trim_turns": 4,
                "overflow_strategy": "llm_compress",
                "instruction": "be short",
                "keep_recent_ratio": 0.2,
                "provider_id": "small",
                "fallback_max_tokens": 9000,
            },
            "misc": {"tool_call_timeout": 33, "tool_schema_mode": "skills_like"},
        },
    },
}
OLD: dict[str, Any] = {
    "provider_settings": {
        "computer_use_runtime": "sandbox",
        "sandbox": {"booter": "cua"},
        "tool_call_timeout": 33,
        "tool_schema_mode": "skills_like",
        "fallback_chat_models": ["spare"],
        "request_max_retries": 2,
        "max_context_length": 40,
        "dequeue_context_length": 4,
        "context_limit_reached_strategy": "llm_compress",
        "llm_compress_instruction": "be short",
        "llm_compress_keep_recent_ratio": 0.2,
        "llm_compress_provider_id": "small",
        "fallback_max_context_tokens": 9000,
    }
}
DEFAULTS = AgentSettings(
    tool_call_timeout=120,
    request_max_retries=5,
    fallback_provider_ids=(),
    max_turns=-1,
    trim_turns=1,
    llm_compress=False,
    compress_provider_id="",
    compress_instruction="",
    keep_recent_ratio=0.15,
    fallback_context_tokens=128_000,
    computer_runtime="none",
    sandbox_booter="",
    tool_schema_mode="full",
)


@pytest.mark.parametrize("config", [NEW, OLD], ids=["4.29", "4.26"])
def test_both_versions_places_are_read(config: dict[str, Any]) -> None:
    assert read_agent_settings(config) == AgentSettings(
        tool_call_timeout=33,
        request_max_retries=2,
        fallback_provider_ids=("spare",),
        max_turns=40,
        trim_turns=4,
        llm_compress=True,
        compress_provider_id="small",
        compress_instruction="be short",
        keep_recent_ratio=0.2,
        fallback_context_tokens=9000,
        computer_runtime="sandbox",
        sandbox_booter="cua",
        tool_schema_mode="skills_like",
    )


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"provider_settings": None, "agent_runner": "local"},
        {"agent_runner": {"config": {"misc": {"tool_call_timeout": "soon"}, "model": []}}},
        {"provider_settings": {"fallback_chat_models": "spare", "max_context_length": True}},
        {"provider_settings": {"request_max_retries": float("inf")}},
    ],
)
def test_what_cannot_be_used_gives_way_to_the_default(config: dict[str, Any]) -> None:
    assert read_agent_settings(config) == DEFAULTS


@pytest.mark.parametrize(
    ("max_turns", "trim_turns", "expected"), [(3, 10, 2), (1, 5, 1), (-1, 10, 10), (20, 0, 1)]
)
def test_dropping_old_turns_leaves_at_least_one(
    max_turns: int, trim_turns: int, expected: int
) -> None:
    compression = {"max_turns": max_turns, "trim_turns": trim_turns}

    settings = read_agent_settings({"agent_runner": {"config": {"compression": compression}}})

    assert (settings.max_turns, settings.trim_turns) == (max_turns, expected)
