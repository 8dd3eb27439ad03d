"""No number of the configuration is beyond what clocks and stores can take, or too small."""

from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

from astrbot_plugin_subagents.manager import DynamicAgentSettings, Settings
from astrbot_plugin_subagents.manager.settings import (
    DashboardSettings,
    DeliverySettings,
    RetentionSettings,
    TaskSettings,
)
from astrbot_plugin_subagents.plugin.config import parse_settings


def numbers() -> Iterator[tuple[str, type]]:
    """Every key that takes a number, and its type."""
    groups = {
        "": Settings,
        "dynamic_agents.": DynamicAgentSettings,
        "task.": TaskSettings,
        "delivery.": DeliverySettings,
        "retention.": RetentionSettings,
        "dashboard.": DashboardSettings,
    }
    for prefix, group in groups.items():
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
@pytest.mark.parametrize("key", ["execution_timeout", "idle_timeout", "question_timeout"])
def test_a_fraction_beyond_all_use_gives_the_default(key: str, value: float) -> None:
    settings, problems = parse_settings({key: value})

    assert settings == Settings()
    assert [problem.key for problem in problems] == [key]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"question_timeout": 1}, Settings(question_timeout=1)),
        ({"delivery": {"max_attempts": 1}}, Settings(delivery=DeliverySettings(max_attempts=1))),
        (
            {"retention": {"events_days": 0, "steps_days": 0, "runs_days": 0}},
            Settings(retention=RetentionSettings(events_days=0, steps_days=0, runs_days=0)),
        ),
    ],
)
def test_the_least_number_of_a_key_is_a_value(raw: dict[str, Any], expected: Settings) -> None:
    assert parse_settings(raw) == (expected, ())


@pytest.mark.parametrize(
    ("key", "value", "least"),
    [
        ("question_timeout", 0, 1),
        ("question_timeout", 0.9, 1),
        ("delivery.max_attempts", 0, 1),
        ("retention.events_days", -1, 0),
        ("retention.steps_days", -1, 0),
        ("retention.runs_days", -1, 0),
    ],
)
def test_a_number_below_the_least_gives_the_default_and_a_text_with_the_range(
    key: str, value: float, least: int
) -> None:
    settings, problems = parse_settings(nested(key, value))

    assert settings == Settings()
    (problem,) = problems
    assert problem.key == key
    assert f"number of at least {least} and at most 1000000000" in problem.accepted
