"""The plugin's own configuration that the demo starts with."""

import json
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.tool_filter import ToolFacts, find_filter
from astrbot_plugin_subagents.plugin.config import parse_settings
from launcher.plugin_config import write_plugin_config
from launcher.problem import Problem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "config" / "astrbot_plugin_subagents_config.json"
    path.parent.mkdir(parents=True)
    return path


def test_copies_may_search_the_documentation_and_nothing_else_is_set(
    tmp_path: Path, path: Path
) -> None:
    write_plugin_config(tmp_path)

    settings, problems = parse_settings(json.loads(path.read_text("utf-8")))
    readonly = find_filter(settings.task.default_tool_filter, settings.task)
    assert problems == ()
    assert readonly.is_allowed(ToolFacts(name="search_project_docs"))
    assert not readonly.is_allowed(ToolFacts(name="another_tool"))


def test_what_a_person_set_stays(tmp_path: Path, path: Path) -> None:
    mine = {"task": {"readonly_extra": []}, "max_steps": 5}
    # AstrBot itself writes a byte order mark.
    path.write_text(json.dumps(mine), encoding="utf-8-sig")

    write_plugin_config(tmp_path)

    assert json.loads(path.read_text("utf-8-sig")) == mine


def test_a_configuration_from_before_the_tool_gets_its_part(tmp_path: Path, path: Path) -> None:
    path.write_text(json.dumps({"max_steps": 5}))

    write_plugin_config(tmp_path)

    written = json.loads(path.read_text("utf-8"))
    assert written == {"max_steps": 5, "task": {"readonly_extra": ["search_project_docs"]}}


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_file_is_named_and_kept(tmp_path: Path, path: Path, text: str) -> None:
    path.write_text(text)

    with pytest.raises(Problem, match="astrbot_plugin_subagents_config"):
        write_plugin_config(tmp_path)

    assert path.read_text() == text
