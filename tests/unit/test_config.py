"""What becomes of a configuration that a person wrote."""

import math
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import pytest

from astrbot_plugin_subagents.manager.settings import (
    CustomFilterSettings,
    DynamicAgentSettings,
    Settings,
    StaticAgentSettings,
)
from astrbot_plugin_subagents.plugin.config import ConfigProblem, parse_settings


def test_an_empty_configuration_gives_the_defaults() -> None:
    assert parse_settings({}) == (Settings(), ())


def test_every_key_is_read() -> None:
    raw, expected = _other_values(Settings)

    assert parse_settings(raw) == (expected, ())


def test_zero_and_the_empty_text_are_values() -> None:
    raw = {"execution_timeout": 0, "token_budget_per_run": 0, "subagent_history_maxlen": 0}
    group = {"max_dynamic_subagent_count": 0, "rule_prompt": "", "tools_inherent": []}

    settings, problems = parse_settings({**raw, "dynamic_agents": group})

    assert problems == ()
    assert settings == Settings(
        execution_timeout=0,
        token_budget_per_run=0,
        subagent_history_maxlen=0,
        dynamic_agents=DynamicAgentSettings(
            max_dynamic_subagent_count=0, rule_prompt="", tools_inherent=()
        ),
    )


@pytest.mark.parametrize(
    ("key", "value", "found", "accepted"),
    [
        ("enabled", "yes", "str", "true or false"),
        ("enabled", 1, "int", "true or false"),
        ("enabled", None, "NoneType", "true or false"),
        ("max_steps", "30", "str", "a whole number of at least 1 and at most 1000000000"),
        ("max_steps", True, "bool", "a whole number of at least 1 and at most 1000000000"),
        ("max_steps", 1.5, "float", "a whole number of at least 1 and at most 1000000000"),
        ("max_steps", 0, "int", "a whole number of at least 1 and at most 1000000000"),
        ("result_maxlen", 199, "int", "a whole number of at least 200 and at most 1000000000"),
        ("session_expiry_days", -1, "int", "a whole number of at least 0 and at most 1000000000"),
        ("execution_timeout", "fast", "str", "a number of at least 0 and at most 1000000000"),
        ("execution_timeout", False, "bool", "a number of at least 0 and at most 1000000000"),
        ("execution_timeout", -0.5, "float", "a number of at least 0 and at most 1000000000"),
        ("execution_timeout", math.nan, "float", "a number of at least 0 and at most 1000000000"),
        ("execution_timeout", math.inf, "float", "a number of at least 0 and at most 1000000000"),
        ("database_url", {"password": "pw"}, "dict", "a text"),
        ("dynamic_agents", ["x"], "list", "a group of settings"),
        ("static_agents", {"name": "x"}, "dict", "a list of groups of settings"),
        ("shared_context_maxlen", 0, "int", "a whole number of at least 1 and at most 1000000000"),
        ("manage_core_subagents", "no", "str", "true or false"),
        ("questions_enabled", "off", "str", "true or false"),
        ("resume_on_restart", 0, "int", "true or false"),
        ("question_timeout", "600", "str", "a number of at least 1 and at most 1000000000"),
        ("delivery", "relay", "str", "a group of settings"),
        ("retention", 90, "int", "a group of settings"),
        ("workdir_roots", ["/srv", "data"], "list", "a list of absolute paths"),
        ("workdir_roots", ["/srv\0"], "list", "a list of absolute paths"),
        ("workdir_roots", "/srv", "str", "a list of absolute paths"),
    ],
)
def test_a_value_that_does_not_fit_is_a_problem_and_the_rest_works(
    key: str, value: object, found: str, accepted: str
) -> None:
    settings, problems = parse_settings({key: value, "history_enabled": False})

    assert settings == Settings(history_enabled=False)
    assert problems == (ConfigProblem(key=key, found=found, accepted=accepted),)


@pytest.mark.parametrize("value", ["per agent", "SINGLE", "Cancel", "on", "", 1, None, True])
@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        ("dynamic_agents.handoff", "one of `per_agent`, `single`"),
        ("on_turn_interrupted", "one of `cancel`, `keep`"),
        ("delivery.mode", "one of `wake`, `relay`"),
        ("progress_messages", "one of `off`, `brief`, `steps`"),
        ("language", "one of `auto`, `en-US`, `zh-CN`, `ru-RU`"),
    ],
)
def test_a_choice_takes_only_what_is_offered(key: str, accepted: str, value: object) -> None:
    group, _, name = key.rpartition(".")

    settings, problems = parse_settings({group: {name: value}} if group else {name: value})

    assert settings == Settings()
    assert [(each.key, each.accepted) for each in problems] == [(key, accepted)]


@pytest.mark.parametrize("value", ["astrbot_execute_shell", {"a": 1}, [1], None])
def test_a_list_of_names_takes_only_texts(value: object) -> None:
    settings, problems = parse_settings({"dynamic_agents": {"tools_inherent": value}})

    assert settings == Settings()
    assert [(each.key, each.accepted) for each in problems] == [
        ("dynamic_agents.tools_inherent", "a list of texts")
    ]


def test_blanks_around_names_and_empty_names_are_dropped() -> None:
    raw = {"dynamic_agents": {"tools_inherent": [" search ", "", "  "]}}

    settings, problems = parse_settings(raw)

    assert settings.dynamic_agents.tools_inherent == ("search",)
    assert problems == ()


@pytest.mark.parametrize("key", ["execution_timeout", "subagent_history_maxlen", "result_maxlen"])
def test_a_number_that_no_clock_or_store_can_take_is_a_problem(key: str) -> None:
    most, problems = parse_settings({key: 1_000_000_000})
    settings, too_much = parse_settings({key: 10**400})

    assert (getattr(most, key), problems) == (1_000_000_000, ())
    assert (settings, [each.key for each in too_much]) == (Settings(), [key])


def test_an_unknown_name_is_a_problem_that_gives_the_nearest_key() -> None:
    raw = {"max_step": 5, "dynamic_agents": {"tools_black_list": ["x"]}}

    settings, problems = parse_settings(raw)

    assert settings == Settings()
    assert problems == (
        ConfigProblem(
            key="dynamic_agents.tools_black_list",
            found="list",
            accepted="Did you mean `dynamic_agents.tools_blacklist`?",
            unknown=True,
        ),
        ConfigProblem(
            key="max_step", found="int", accepted="Did you mean `max_steps`?", unknown=True
        ),
    )


def test_a_name_like_no_key_is_answered_with_all_keys() -> None:
    _, problems = parse_settings({"dynamic_agents": {"zzz": 1}})

    names = ", ".join(each.name for each in fields(DynamicAgentSettings))
    assert [each.accepted for each in problems] == [f"Known: {names}."]


@pytest.mark.parametrize("raw", [None, [], "x", 3])
def test_a_configuration_that_is_no_group_gives_the_defaults(raw: object) -> None:
    settings, problems = parse_settings(raw)

    assert settings == Settings()
    assert [each.key for each in problems] == [""]


def test_no_text_of_a_problem_holds_the_value() -> None:
    secret = ["postgresql://me:hunter2@db"]

    _, problems = parse_settings({"database_url": secret, "databse_url": secret[0]})

    assert len(problems) == 2
    assert all("hunter2" not in each.text for each in problems)


def test_texts_name_key_type_and_what_is_accepted() -> None:
    _, problems = parse_settings({"max_steps": "30", "max_step": 5})

    assert [each.text for each in problems] == [
        (
            "`max_steps` takes a whole number of at least 1 and at most 1000000000; a str that "
            "does not fit was found, so the default is used."
        ),
        "`max_step` (int) is no setting and is ignored. Did you mean `max_steps`?",
    ]


def _other_values(group: type[Any]) -> tuple[dict[str, Any], Any]:
    """Make a configuration in which no value is the default, and what it should become."""
    raw: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for name, hint in get_type_hints(group).items():
        default = getattr(group(), name)
        if name in _BY_HAND:
            raw[name], expected[name] = _BY_HAND[name]
        elif is_dataclass(default):
            raw[name], expected[name] = _other_values(hint)
        elif isinstance(default, bool):
            raw[name] = expected[name] = not default
        elif isinstance(default, int | float):
            raw[name] = expected[name] = default + 1
        elif isinstance(default, str):
            raw[name] = expected[name] = f"{default}!"
        else:
            raw[name], expected[name] = ["one", "two"], ("one", "two")
    return raw, group(**expected)


_BY_HAND: dict[str, tuple[Any, Any]] = {
    "handoff": ("single", "single"),
    "static_agents": ([{"name": "poet"}], (StaticAgentSettings(name="poet"),)),
    "custom_filters": ([{"name": "mine"}], (CustomFilterSettings(name="mine"),)),
    "default_tool_filter": ("mine", "mine"),
    "on_turn_interrupted": ("keep", "keep"),
    "mode": ("relay", "relay"),
    "progress_messages": ("brief", "brief"),
    "language": ("ru-RU", "ru-RU"),
    "host": ("::1", "::1"),
    "token": (" correct horse battery ", "correct horse battery"),
    "workdir_roots": (["/srv/one", "/srv/two"], ("/srv/one", "/srv/two")),
}
"""Keys that do not take just any value of their type."""


def test_of_many_keys_that_mean_nothing_the_first_are_told() -> None:
    settings, problems = parse_settings({f"{number}" * 10_000: 1 for number in range(1, 100)})

    assert settings == Settings()
    assert len(problems) == 20


def test_a_list_may_have_two_hundred_entries() -> None:
    entries = [{"name": f"agent_{number}"} for number in range(201)]

    most, none_wrong = parse_settings({"static_agents": entries[:200]})
    none, problems = parse_settings({"static_agents": entries})

    assert (len(most.static_agents), none_wrong) == (200, ())
    assert none.static_agents == ()
    assert "a list of at most 200 groups" in problems[0].text
