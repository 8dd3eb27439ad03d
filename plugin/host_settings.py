"""AstrBot's settings for its main agent that children share, from where each version keeps them.

4.29 keeps them in `agent_runner.config`, 4.26 in `provider_settings`; each key is looked up in
both, the newer place first. A value that cannot be used gives way to AstrBot's default.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How AstrBot runs an agent in one chat."""

    tool_call_timeout: int
    """Seconds."""
    request_max_retries: int
    fallback_provider_ids: tuple[str, ...]
    max_turns: int
    """Older turns are dropped from a request; -1 is no limit."""
    trim_turns: int
    """How many turns are dropped at once."""
    llm_compress: bool
    """Whether a model sums up old messages when the context is full."""
    compress_provider_id: str
    compress_instruction: str
    keep_recent_ratio: float
    fallback_context_tokens: int
    """The context window of a model that AstrBot knows nothing about."""
    computer_runtime: str
    """`none`, `local` or `sandbox`."""
    sandbox_booter: str
    tool_schema_mode: str
    """`full` or `skills_like`: how the main agent's tools are sent."""


def read_agent_settings(config: Mapping[str, Any]) -> AgentSettings:
    """Read them from a chat's configuration of AstrBot."""
    runner = _section(_section(config, "agent_runner"), "config")
    old = _section(config, "provider_settings")
    model, misc = _section(runner, "model"), _section(runner, "misc")
    compression = _section(runner, "compression")
    max_turns = _integer(_pick(compression, "max_turns", old, "max_context_length"), -1, least=-1)
    strategy = _pick(compression, "overflow_strategy", old, "context_limit_reached_strategy")
    return AgentSettings(
        tool_call_timeout=_integer(_pick(misc, "tool_call_timeout", old), 120, least=1),
        request_max_retries=_integer(_pick(model, "request_max_retries", old), 5, least=1),
        fallback_provider_ids=_names(
            _pick(model, "fallback_provider_ids", old, "fallback_chat_models")
        ),
        max_turns=max_turns,
        trim_turns=_trim_turns(
            _integer(_pick(compression, "trim_turns", old, "dequeue_context_length"), 1, least=1),
            max_turns,
        ),
        llm_compress=strategy == "llm_compress",
        compress_provider_id=_text(
            _pick(compression, "provider_id", old, "llm_compress_provider_id")
        ),
        compress_instruction=_text(
            _pick(compression, "instruction", old, "llm_compress_instruction")
        ),
        keep_recent_ratio=_ratio(
            _pick(compression, "keep_recent_ratio", old, "llm_compress_keep_recent_ratio")
        ),
        fallback_context_tokens=_integer(
            _pick(compression, "fallback_max_tokens", old, "fallback_max_context_tokens"),
            128_000,
            least=0,
        ),
        computer_runtime=_text(old.get("computer_use_runtime")) or "none",
        sandbox_booter=_text(_section(old, "sandbox").get("booter")),
        tool_schema_mode=_schema_mode(_pick(misc, "tool_schema_mode", old)),
    )


def _section(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = config.get(key)
    return found if isinstance(found, Mapping) else _NOTHING


def _pick(new: Mapping[str, Any], key: str, old: Mapping[str, Any], old_key: str = "") -> object:
    return new[key] if key in new else old.get(old_key or key)


def _integer(value: object, default: int, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return default
    try:
        return max(least, int(value))
    except (ValueError, OverflowError):
        return default


def _trim_turns(wanted: int, max_turns: int) -> int:
    # As AstrBot does: dropping all turns that may stay would leave nothing.
    return max(1, min(wanted, max_turns - 1)) if max_turns > 0 else wanted


def _ratio(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.15
    return min(0.3, max(0.0, float(value)))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _schema_mode(value: object) -> str:
    # As AstrBot does: whatever it does not know means the full schemas.
    return "skills_like" if value == "skills_like" else "full"


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        return ()
    return tuple(each for each in value if isinstance(each, str) and each)
