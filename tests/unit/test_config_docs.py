"""The page about the settings lists each of them, with its default."""

import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from astrbot_plugin_subagents.manager.settings import (
    DEFAULT_RULE_PROMPT,
    MANAGEMENT_TOOLS,
    CustomFilterSettings,
    Settings,
    StaticAgentSettings,
)
from astrbot_plugin_subagents.plugin.config_values import LEAST

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
IN_WORDS = {
    "four rules": DEFAULT_RULE_PROMPT,
    "the plugin's own tools": MANAGEMENT_TOOLS,
    "needed": "",
    "all": None,
}


def test_every_setting_is_listed_and_nothing_else() -> None:
    assert sorted(_rows()) == sorted(key for key, _ in _settings())


def test_the_defaults_are_those_of_the_settings() -> None:
    listed = {key: _value(default) for key, (default, _, _) in _rows().items()}

    assert listed == {key: _plain(value) for key, value in _settings()}


def test_every_number_has_its_unit_and_least_value() -> None:
    for key, value in _settings():
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert re.fullmatch(rf"[a-z -]+, at least {LEAST.get(key, 0)}", _rows()[key][1]), key


def test_every_setting_is_explained() -> None:
    assert [key for key, (_, _, meaning) in _rows().items() if not meaning.endswith(".")] == []


def _rows() -> dict[str, tuple[str, str, str]]:
    rows = re.findall(
        r"^\| `([\w.\[\]]+)` \| (.*?) \| (.*?) ?\| (.*) \|$", PAGE.read_text("utf-8"), re.M
    )
    return {key: (default, unit, meaning) for key, default, unit, meaning in rows}


def _settings() -> Iterator[tuple[str, Any]]:
    yield from _of(Settings(), "")
    yield from _of(StaticAgentSettings(name=""), "static_agents[].")
    yield from _of(CustomFilterSettings(name=""), "task.custom_filters[].")


def _of(settings: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name in get_type_hints(type(settings)):
        value = getattr(settings, name)
        if is_dataclass(value):
            yield from _of(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _value(written: str) -> Any:
    return json.loads(written.strip("`")) if written.startswith("`") else _plain(IN_WORDS[written])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
