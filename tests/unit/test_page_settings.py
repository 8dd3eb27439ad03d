"""Settings that are saved on the dashboard: written as AstrBot keeps them, and in use at once."""

from typing import Any

import pytest

from astrbot_plugin_subagents.dashboard_api.ports import InvalidSettings, SettingsNotSaved
from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.plugin.config import parse_settings
from astrbot_plugin_subagents.plugin.live_settings import LiveSettings
from astrbot_plugin_subagents.plugin.page_settings import AstrBotSettings
from support.settings_desk import FIELDS, Desk


def test_what_is_saved_stands_in_the_file_and_counts_at_once() -> None:
    desk = Desk(max_steps=5, task={"enabled": True})

    desk.port.save({"task.enabled": False, "idle_timeout": 7})

    assert desk.config.file == {"max_steps": 5, "task": {"enabled": False}, "idle_timeout": 7}
    assert desk.live.configured() == parse_settings(desk.config.file)[0]
    assert desk.live.current().idle_timeout == 7
    assert desk.port.values()["task"]["enabled"] is False
    assert desk.port.restart_needed() == []


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"max_steps": 3, "idle_timeout": "soon"}, ["idle_timeout"]),
        ({"max_steps": 3, "no_such_key": 1}, ["no_such_key"]),
        ({"max_steps": 3, "task": {"enabled": False}}, ["task"]),
        ({"task.": 1, "": 2, "task.enabled.x": 3}, ["", "task.", "task.enabled.x"]),
        ({"database_url": {"is_set": True}}, ["database_url"]),
        ({"task.custom_filters": [{"name": "full"}]}, ["task.custom_filters.0.name"]),
    ],
)
def test_nothing_is_saved_when_one_value_does_not_fit(
    values: dict[str, Any], wrong: list[str]
) -> None:
    desk = Desk(max_steps=5)

    with pytest.raises(InvalidSettings) as refused:
        desk.port.save(values)

    assert sorted(refused.value.fields) == wrong
    assert all(text.endswith(".") for text in refused.value.fields.values())
    assert desk.config == desk.config.file == {"max_steps": 5}
    assert desk.live.configured() == Settings(max_steps=5)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), "surrogates"),
    ],
)
def test_what_cannot_be_written_is_told_and_changes_nothing(error: Exception, told: str) -> None:
    desk = Desk(max_steps=5, task={"enabled": True})
    desk.config.error = error

    with pytest.raises(SettingsNotSaved, match=told):
        desk.port.save({"max_steps": 6, "task.enabled": False})

    assert desk.config == desk.config.file == {"max_steps": 5, "task": {"enabled": True}}
    assert desk.live.configured() == Settings(max_steps=5)


def test_a_secret_goes_in_and_does_not_come_out() -> None:
    desk = Desk()

    desk.port.save({"database_url": "postgresql://me:hunter2@db"})

    assert desk.config.file["database_url"] == "postgresql://me:hunter2@db"
    assert desk.port.values()["database_url"] == {"is_set": True}
    assert desk.port.restart_needed() == ["database_url"]
    desk.port.save({"database_url": ""})
    assert desk.port.values()["database_url"] == {"is_set": False}
    assert desk.port.restart_needed() == []


def test_static_agents_are_saved_all_together() -> None:
    desk = Desk(static_agents=[{"__template_key": "agent", "name": "old"}])

    desk.port.save_static([{"name": "poet", "skills": ["*"]}, {"name": "sage", "enabled": False}])

    assert desk.config.file["static_agents"] == [
        {"name": "poet", "skills": ["*"], "__template_key": "agent"},
        {"name": "sage", "enabled": False, "__template_key": "agent"},
    ]
    assert desk.live.current().static_agents == (
        StaticAgentSettings(name="poet"),
        StaticAgentSettings(name="sage", enabled=False),
    )
    assert [each["name"] for each in desk.port.static_agents()] == ["poet", "sage"]


def test_what_is_wrong_with_a_static_agent_is_told_by_its_place() -> None:
    desk = Desk()

    with pytest.raises(InvalidSettings) as refused:
        desk.port.save_static([{"name": "poet"}, {"name": "Poet", "tols": []}])

    assert sorted(refused.value.fields) == ["items.1.name", "items.1.tols"]
    assert desk.config.file == {}


def test_what_is_wrong_with_the_file_is_told_by_key_and_names_unknown_to_astrbot_without() -> None:
    desk = Desk(max_steps="many", task={"custom_filters": [{"name": ""}]})

    keys = [key for key, _ in desk.port.problems()]

    assert keys == ["max_steps", "task.custom_filters.0.name", ""]
    assert desk.port.problems()[-1] == ("", "30 is told.")


def test_a_plugin_without_a_configuration_cannot_save() -> None:
    port = AstrBotSettings({}, LiveSettings(Settings()), FIELDS, lambda _: ())

    with pytest.raises(SettingsNotSaved, match="AstrBot has given the plugin no configuration"):
        port.save({"max_steps": 3})
