"""What the dashboard's forms of settings are made of, and the values in them."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.settings import (
    SECRETS,
    DashboardSettings,
    StaticAgentSettings,
)
from astrbot_plugin_subagents.plugin.config import ENTRIES, parse_settings
from astrbot_plugin_subagents.plugin.page_entries import restored
from astrbot_plugin_subagents.plugin.setting_fields import SettingFields
from astrbot_plugin_subagents.plugin.setting_values import changed, check, differing, shown

FIELDS = SettingFields(Path(__file__).parents[2])
LOCALES = {"en-US", "ru-RU", "zh-CN"}


def test_every_setting_has_a_field() -> None:
    assert FIELDS.keys() == {key for key, _ in _leaves(asdict(Settings()))}
    assert {each["key"] for each in FIELDS.all()} == FIELDS.keys() - {"static_agents"}


def test_every_field_has_its_texts_in_all_languages() -> None:
    for field in _every_field():
        assert set(field["title"]) == LOCALES, field["key"]
        assert set(field["hint"]) == LOCALES, field["key"]
        assert all(field["title"].values()), field["key"]
        for choice in field.get("choices", ()):
            assert set(choice["title"]) == LOCALES, field["key"]


def test_the_default_of_a_field_is_that_of_its_setting() -> None:
    defaults = dict(_leaves(shown(Settings(), {})))

    differing_ones = [
        each["key"]
        for each in FIELDS.all()
        if each["type"] != "secret" and each["default"] != defaults[each["key"]]
    ]

    assert differing_ones == []


def test_a_secret_setting_has_a_field_for_secrets() -> None:
    assert {each["key"] for each in FIELDS.all() if each["type"] == "secret"} == SECRETS


def test_a_number_says_its_bounds_and_a_choice_what_there_is() -> None:
    by_key = {each["key"]: each for each in FIELDS.all()}

    port, handoff = by_key["dashboard.port"], by_key["dynamic_agents.handoff"]
    assert (port["type"], port["minimum"], port["maximum"]) == ("int", 1, 65535)
    assert port["group"] == "dashboard"
    assert [each["value"] for each in handoff["choices"]] == ["per_agent", "single"]
    assert handoff["choices"][1]["title"]["en-US"] == "One tool for all"


def test_entries_of_a_list_have_fields_of_their_own() -> None:
    (filters,) = [each for each in FIELDS.all() if each["type"] == "entries"]

    assert filters["key"] == "task.custom_filters"
    assert [(each["key"], each["type"]) for each in filters["fields"]] == [
        ("name", "text"),
        ("mode", "choice"),
        ("allowed", "list"),
        ("denied", "list"),
    ]
    assert [each["key"] for each in FIELDS.of_static_agents()] == list(
        asdict(StaticAgentSettings(name=""))
    )


def test_entries_are_written_as_astrbots_own_page_writes_them() -> None:
    written = FIELDS.as_astrbot_writes(
        {"task.custom_filters": [{"name": "x"}, 7], "static_agents": 3, "max_steps": 4}
    )

    assert written == {
        "task.custom_filters": [{"name": "x", "__template_key": "filter"}, 7],
        "static_agents": 3,
        "max_steps": 4,
    }


def test_of_a_secret_only_is_shown_whether_there_is_one() -> None:
    settings = Settings(
        database_url="postgresql://me:hunter2@db",
        dashboard=DashboardSettings(token="hunter2hunter2"),
    )

    values = shown(settings, {})

    assert values["database_url"] == {"is_set": True}
    assert values["dashboard"]["token"] == {"is_set": True}
    assert shown(Settings(), {})["database_url"] == {"is_set": False}
    assert "hunter2" not in repr(values)


def test_what_is_shown_can_be_sent_back_and_means_the_same() -> None:
    raw = {
        "static_agents": [
            {"name": "poet", "tools": ["*"]},
            {"name": "sage", "skills": [], "tools": ["a"]},
        ],
        "task": {"custom_filters": [{"name": "mine", "denied": ["x"]}]},
        "workdir_roots": ["/srv"],
    }
    settings, _ = parse_settings(raw)
    shown_values = shown(settings, raw)
    values = {key: value for key, value in _leaves(shown_values) if key not in SECRETS}
    for key, declared in ENTRIES.items():
        values[key] = restored(values[key], (), declared)

    read, problems = parse_settings(changed({}, FIELDS.as_astrbot_writes(values)))

    assert problems == ()
    assert read == settings


def test_a_change_leaves_the_rest_of_the_configuration_and_the_original_alone() -> None:
    raw = {"max_steps": 5, "task": {"enabled": False}, "retention": "broken"}

    made = changed(raw, {"task.max_tasks_per_call": 2, "retention.runs_days": 1})

    assert made == {
        "max_steps": 5,
        "task": {"enabled": False, "max_tasks_per_call": 2},
        "retention": {"runs_days": 1},
    }
    assert raw == {"max_steps": 5, "task": {"enabled": False}, "retention": "broken"}


def test_what_was_wrong_before_does_not_hinder_a_change() -> None:
    raw = {"max_steps": "many", "idle_timeout": 1}

    settings, wrong = _checked(raw, {"idle_timeout": 2})

    assert wrong == {}
    assert settings == Settings(idle_timeout=2)


def test_a_wrong_value_that_is_sent_once_more_is_wrong() -> None:
    _, wrong = _checked({"max_steps": 0}, {"max_steps": 0})

    assert wrong == {"max_steps": "It takes a whole number of at least 1 and at most 1000000000."}


def test_what_a_change_makes_wrong_elsewhere_is_told() -> None:
    raw = {"task": {"custom_filters": [{"name": "mine"}], "default_tool_filter": "mine"}}

    _, wrong = _checked(raw, {"task.custom_filters": []})

    assert wrong == {
        "task.default_tool_filter": "It takes the name of a tool filter (full, none, readonly)."
    }


def test_a_wrong_entry_is_told_by_its_place() -> None:
    entries = [{"name": "fine"}, {"name": "no good"}, {"name": "FINE"}, {"name": "x", "tols": []}]

    _, wrong = _checked({}, {"static_agents": entries})

    assert sorted(wrong) == [
        "static_agents[1].name",
        "static_agents[2].name",
        "static_agents[3].tols",
    ]
    assert wrong["static_agents[3].tols"].startswith("There is no such setting. Did you mean")


def test_settings_that_differ_are_named() -> None:
    one = Settings(database_url="x")
    other = replace(one, database_url="y", max_steps=3)

    assert differing(one, other, ("database_url", "enabled", "dashboard.port")) == ["database_url"]
    assert differing(one, other, ("max_steps", "database_url")) == ["database_url", "max_steps"]


def _checked(raw: dict[str, Any], values: dict[str, Any]) -> tuple[Settings, dict[str, str]]:
    return check(raw, changed(raw, values), values)


def _every_field() -> list[dict[str, Any]]:
    own = FIELDS.all()
    inner = [inner for each in own for inner in each.get("fields", ())]
    return [*own, *inner, *FIELDS.of_static_agents()]


def _leaves(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict) and "is_set" not in value:
            found += _leaves(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", value))
    return found
