"""The files from which AstrBot shows the configuration say what the settings are."""

import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from astrbot_plugin_subagents.manager.settings import Settings

ROOT = Path(__file__).parents[2]
LOCALES = ("en-US", "zh-CN", "ru-RU")


def test_the_schema_has_the_keys_types_and_defaults_of_the_settings() -> None:
    assert _shape_of_schema(_schema()) == _shape_of_settings(Settings())


def test_every_key_of_the_schema_says_what_it_is() -> None:
    silent = [
        key
        for key, item in _items(_schema())
        if not (item.get("description", "").strip() and item.get("hint", "").strip())
    ]

    assert silent == []


@pytest.mark.parametrize("locale", LOCALES)
def test_a_locale_has_a_text_for_every_key_and_for_nothing_else(locale: str) -> None:
    texts = _locale(locale)["config"]

    assert _keys_of_texts(texts) == [key for key, _ in _items(_schema())]


@pytest.mark.parametrize("locale", LOCALES)
def test_a_locale_names_the_plugin(locale: str) -> None:
    metadata = _locale(locale)["metadata"]

    assert sorted(metadata) == ["desc", "display_name", "short_desc"]
    assert all(metadata.values())


def test_there_are_no_other_locales() -> None:
    folder = ROOT / ".astrbot-plugin" / "i18n"

    assert sorted(each.name for each in folder.iterdir()) == sorted(f"{x}.json" for x in LOCALES)


def test_english_is_the_language_of_the_schema() -> None:
    texts = {key: (item["description"], item["hint"]) for key, item in _items(_schema())}

    assert _texts(_locale("en-US")["config"]) == texts


@pytest.mark.parametrize("locale", ["zh-CN", "ru-RU"])
def test_nothing_was_left_in_english(locale: str) -> None:
    english = _texts(_locale("en-US")["config"])
    translated = _texts(_locale(locale)["config"])

    assert [key for key, text in translated.items() if text == english[key]] == []


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "_conf_schema.json").read_text("utf-8"))
    return schema


def _locale(name: str) -> dict[str, Any]:
    path = ROOT / ".astrbot-plugin" / "i18n" / f"{name}.json"
    texts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return texts


def _items(schema: dict[str, Any], prefix: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, item in schema.items():
        found.append((prefix + name, item))
        if item["type"] == "object":
            found += _items(item["items"], f"{prefix}{name}.")
    return found


def _keys_of_texts(texts: dict[str, Any]) -> list[str]:
    return list(_texts(texts))


def _texts(texts: dict[str, Any], prefix: str = "") -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for name, entry in texts.items():
        found[prefix + name] = (entry["description"], entry["hint"])
        groups = {key: value for key, value in entry.items() if isinstance(value, dict)}
        found |= _texts(groups, f"{prefix}{name}.")
    return found


def _shape_of_schema(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = {"text": "string"}
    return {
        name: _shape_of_schema(item["items"])
        if item["type"] == "object"
        else (kinds.get(item["type"], item["type"]), item["default"])
        for name, item in schema.items()
    }


def _shape_of_settings(settings: Any) -> dict[str, Any]:
    kinds = {bool: "bool", int: "int", float: "float", str: "string", tuple[str, ...]: "list"}
    shape: dict[str, Any] = {}
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if is_dataclass(value):
            shape[name] = _shape_of_settings(value)
        else:
            shape[name] = (kinds[hint], list(value) if isinstance(value, tuple) else value)
    return shape
