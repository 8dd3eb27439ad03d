"""No number of the configuration is larger than what clocks and stores can take."""

from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

from astrbot_plugin_subagents.manager import DynamicAgentSettings, Settings
from astrbot_plugin_subagents.plugin.config import parse_settings


def numbers() -> Iterator[tuple[str, type]]:
    """Every key that takes a number, and its type."""
    for prefix, group in (("", Settings), ("dynamic_agents.", DynamicAgentSettings)):
        for name, hint in get_type_hints(group).items():
            if hint in (int, float):
                yield prefix + name, hint


def nested(key: str, value: object) -> dict[str, Any]:
    group, _, name = key.rpartition(".")
    return {group: {name: value}} if group else {name: value}


@pytest.mark.parametrize("value", [10**400, 2**63, 2**63 - 1, 10**12])
@pytest.mark.parametrize(("key", "hint"), list(numbers()))
def test_a_number_beyond_all_use_gives_the_default_and_a_text_with_the_range(
    key: str, hint: type, value: int
) -> None:
    settings, problems = parse_settings(nested(key, value))

    assert settings == Settings()
    (problem,) = problems
    assert problem.key == key
    assert "at least" in problem.text
    assert "at most" in problem.text
    assert "int that does not fit" in problem.text
    assert str(value) not in problem.text


@pytest.mark.parametrize("value", [1e300, float("inf"), float("nan"), -1e300])
@pytest.mark.parametrize("key", ["execution_timeout", "idle_timeout"])
def test_a_fraction_beyond_all_use_gives_the_default(key: str, value: float) -> None:
    settings, problems = parse_settings({key: value})

    assert settings == Settings()
    assert [problem.key for problem in problems] == [key]
