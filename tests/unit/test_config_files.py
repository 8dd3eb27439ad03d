"""The files from which AstrBot shows the configuration say what the settings are."""

import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeAliasType, get_args, get_type_hints

import pytest

from astrbot_plugin_subagents.manager.settings import (
    CustomFilterSettings,
    Settings,
    StaticAgentSettings,
    TaskSettings,
)
from astrbot_plugin_subagents.plugin.config import parse_settings

ROOT = Path(__file__).parents[2]
LOCALES = ("en-US", "zh-CN", "ru-RU")
UNTRANSLATED = {
    "static_agents.templates.agent.name",
    "task.custom_filters.templates.filter.name",
}
"""AstrBot looks for the text of these keys where it looks for the template's name."""


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

    keys = [key for key, _ in _items(_schema()) if key not in UNTRANSLATED]
    assert _keys_of_texts(texts) == keys


def test_a_setting_with_choices_names_each_of_them() -> None:
    choices = {key: item for key, item in _items(_schema()) if "options" in item}

    assert choices
    assert [
        key for key, item in choices.items() if len(item["labels"]) != len(item["options"])
    ] == []


def test_the_defaults_of_the_schema_are_settings_without_a_problem() -> None:
    schema = _whole_schema()
    raw = _defaults(schema)
    raw["static_agents"] = [_entry(schema["static_agents"], name="poet")]
    raw["task"]["custom_filters"] = [_entry(schema["task"]["items"]["custom_filters"], name="x")]

    settings, problems = parse_settings(raw)

    assert problems == ()
    assert settings == Settings(
        static_agents=(StaticAgentSettings(name="poet"),),
        task=TaskSettings(custom_filters=(CustomFilterSettings(name="x"),)),
    )


@pytest.mark.parametrize("locale", LOCALES)
def test_a_locale_names_the_plugin(locale: str) -> None:
    metadata = _locale(locale)["metadata"]

    assert sorted(metadata) == ["desc", "display_name", "short_desc"]
    assert all(metadata.values())


def test_there_are_no_other_locales() -> None:
    folder = ROOT / ".astrbot-plugin" / "i18n"

    assert sorted(each.name for each in folder.iterdir()) == sorted(f"{x}.json" for x in LOCALES)


def test_english_is_the_language_of_the_schema() -> None:
    texts = {key: _text(item) for key, item in _items(_schema()) if key not in UNTRANSLATED}

    assert _texts(_locale("en-US")["config"]) == texts


@pytest.mark.parametrize("locale", ["zh-CN", "ru-RU"])
def test_nothing_was_left_in_english(locale: str) -> None:
    english = _texts(_locale("en-US")["config"])
    translated = _texts(_locale(locale)["config"])

    assert [key for key, text in translated.items() if text == english[key]] == []
    assert [key for key, text in english.items() if text[2] and not translated[key][2]] == []


def test_what_nobody_sees_is_no_setting_but_keeps_astrbot_from_making_a_password() -> None:
    password = _whole_schema()["dashboard"]["items"]["password"]

    assert password["invisible"]
    assert password["default"]


def _schema() -> dict[str, Any]:
    """What AstrBot's page shows."""
    return _visible(_whole_schema())


def _whole_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "_conf_schema.json").read_text("utf-8"))
    return schema


def _visible(items: dict[str, Any]) -> dict[str, Any]:
    return {
        key: item | {"items": _visible(item["items"])} if item["type"] == "object" else item
        for key, item in items.items()
        if not item.get("invisible")
    }


def _defaults(items: dict[str, Any]) -> dict[str, Any]:
    """What AstrBot writes for a user who has set nothing."""
    return {
        key: _defaults(item["items"]) if item["type"] == "object" else item["default"]
        for key, item in items.items()
    }


def _entry(item: dict[str, Any], *, name: str) -> dict[str, Any]:
    """What AstrBot's page adds to a list of groups, with a name."""
    ((kind, template),) = item["templates"].items()
    return {"__template_key": kind, **_defaults(template["items"]), "name": name}


def _locale(name: str) -> dict[str, Any]:
    path = ROOT / ".astrbot-plugin" / "i18n" / f"{name}.json"
    texts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return texts


def _items(schema: dict[str, Any], prefix: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every key with its entry; AstrBot calls an entry of a list after its template."""
    found = []
    for name, item in schema.items():
        found.append((prefix + name, item))
        if item["type"] == "object":
            found += _items(item["items"], f"{prefix}{name}.")
        for kind, template in item.get("templates", {}).items():
            place = f"{prefix}{name}.templates.{kind}"
            found.append((place, {**template, "type": "template", "description": template["name"]}))
            found += _items(template["items"], f"{place}.")
    return found


def _keys_of_texts(texts: dict[str, Any]) -> list[str]:
    return list(_texts(texts))


def _texts(texts: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Description, hint and names of choices, by key; a template has a name for a description."""
    found: dict[str, Any] = {}
    for name, entry in texts.items():
        found[prefix + name] = _text(entry)
        groups = {key: value for key, value in entry.items() if isinstance(value, dict)}
        for kind, template in groups.pop("templates", {}).items():
            place = f"{prefix}{name}.templates.{kind}"
            found[place] = (template["name"], template["hint"], None)
            items = {key: value for key, value in template.items() if isinstance(value, dict)}
            found |= _texts(items, f"{place}.")
        found |= _texts(groups, f"{prefix}{name}.")
    return found


def _text(entry: dict[str, Any]) -> Any:
    return entry["description"], entry["hint"], entry.get("labels")


def _shape_of_schema(schema: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[Any, str] = {"text": "string"}
    shape: dict[str, Any] = {}
    for name, item in schema.items():
        if item["type"] == "object":
            shape[name] = _shape_of_schema(item["items"])
        elif item["type"] == "template_list":
            (template,) = item["templates"].values()
            shape[name] = [item["default"], _shape_of_schema(template["items"])]
        else:
            kind = tuple(item["options"]) if "options" in item else item["type"]
            shape[name] = (kinds.get(kind, kind), item["default"])
    return shape


def _shape_of_settings(settings: Any) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if is_dataclass(value):
            shape[name] = _shape_of_settings(value)
        elif is_dataclass(entry := (*get_args(hint), None)[0]):
            shape[name] = [list(value), _shape_of_settings(_nameless(entry))]
        else:
            shape[name] = (_kind(hint), _as_json(value))
    return shape


def _nameless(entry: Any) -> Any:
    return entry(name="")


def _kind(hint: Any) -> Any:
    if isinstance(hint, TypeAliasType):
        return get_args(hint.__value__)
    if hint in (tuple[str, ...], tuple[str, ...] | None):
        return "list"
    return {bool: "bool", int: "int", float: "float", str: "string"}[hint]


def _as_json(value: Any) -> Any:
    # AstrBot's page knows no null in a list; all is written as a star there
    if value is None:
        return ["*"]
    return list(value) if isinstance(value, tuple) else value
