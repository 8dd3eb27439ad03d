"""What a page needs to know of each setting to make a form of it.

One source for each thing: defaults and bounds are those of the parser, kinds stand in
`_conf_schema.json`, and titles in the files from which AstrBot shows the same settings. Nothing
here knows AstrBot.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..manager.settings import SECRETS, Settings
from .config import ENTRIES
from .config_values import bounds_of
from .page_entries import as_form_has_it

SCHEMA_FILE = "_conf_schema.json"
LOCALE_FOLDER = ".astrbot-plugin/i18n"
STATIC_AGENTS = "static_agents"

_KINDS: Mapping[str, str] = MappingProxyType(
    {"string": "text", "text": "long_text", "template_list": "entries"}
)
_NUMBERS = ("int", "float")

type Item = Mapping[str, Any]
type Texts = Mapping[str, Item]
"""By locale, what one of AstrBot's files says of a group or of a key."""
type FieldRecord = dict[str, Any]


class SettingFields:
    """Reads the files once and answers from memory."""

    def __init__(self, root: Path) -> None:
        """Read the files.

        Args:
            root: The plugin's own folder.

        Raises:
            OSError: A file of the plugin is missing.
        """
        schema = json.loads((root / SCHEMA_FILE).read_text("utf-8"))
        files = sorted((root / LOCALE_FOLDER).glob("*.json"))
        texts = {file.stem: json.loads(file.read_text("utf-8"))["config"] for file in files}
        defaults = asdict(Settings())
        fields = list(_fields(schema, texts, defaults, _Place()))
        self._templates = dict(_templates(schema))
        self._all = [each for each in fields if each["key"] != STATIC_AGENTS]
        (static,) = [each for each in fields if each["key"] == STATIC_AGENTS]
        self._static: list[FieldRecord] = static["fields"]

    def all(self) -> list[FieldRecord]:
        """Those of all settings but the static agents, in their order."""
        return self._all

    def of_static_agents(self) -> list[FieldRecord]:
        """Those of one static agent."""
        return self._static

    def as_astrbot_writes(self, values: Item) -> dict[str, Any]:
        """Values by dotted key, with the mark that AstrBot's page puts on entries of a list."""
        return {
            key: _marked(value, self._templates[key]) if key in self._templates else value
            for key, value in values.items()
        }

    def keys(self) -> frozenset[str]:
        """The dotted keys of all settings, static agents included."""
        return frozenset({STATIC_AGENTS, *(each["key"] for each in self._all)})


class _Place:
    """Where in the schema a group stands."""

    def __init__(self, prefix: str = "", path: str = "") -> None:
        self.prefix = prefix
        """Before the names of its keys, in a form."""
        self.path = path
        """Before the names of its keys, as the parser calls them."""

    @property
    def group(self) -> str:
        return self.prefix.removesuffix(".")


def _fields(
    items: Item, texts: Texts, defaults: Mapping[str, Any], place: _Place
) -> Iterator[FieldRecord]:
    for name, item in items.items():
        said = {locale: _said(group, name) for locale, group in texts.items()}
        if item["type"] == "object":
            inner = f"{place.prefix}{name}."
            yield from _fields(item["items"], said, defaults[name], _Place(inner, inner))
        elif not item.get("invisible"):
            yield _field(name, item, said, defaults[name], place)


def _field(name: str, item: Item, said: Texts, default: object, where: _Place) -> FieldRecord:
    key, path = f"{where.prefix}{name}", f"{where.path}{name}"
    kind = "secret" if path in SECRETS else _kind(item)
    field: FieldRecord = {
        "key": key,
        "type": kind,
        "default": as_form_has_it(default),
        "group": where.group,
        "title": _texts("description", item, said),
        "hint": _texts("hint", item, said),
    }
    if kind in _NUMBERS:
        field["minimum"], field["maximum"] = bounds_of(path)
    if kind == "choice":
        field["choices"] = [
            {
                "value": value,
                "title": {locale: each["labels"][place] for locale, each in said.items()},
            }
            for place, value in enumerate(item["options"])
        ]
    if kind == "entries":
        field["fields"] = list(_entry_fields(path, item, said))
    return field


def _templates(items: Item, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The keys of lists of groups, and what AstrBot calls the kind of their entries."""
    for name, item in items.items():
        if item["type"] == "object":
            yield from _templates(item["items"], f"{prefix}{name}.")
        for template in item.get("templates", ()):
            yield f"{prefix}{name}", template


def _marked(entries: object, template: str) -> object:
    if not isinstance(entries, list | tuple):
        return entries
    return [
        {**each, "__template_key": template} if isinstance(each, Mapping) else each
        for each in entries
    ]


def _entry_fields(path: str, item: Item, said: Texts) -> Iterator[FieldRecord]:
    ((template_name, template),) = item["templates"].items()
    texts = {locale: each["templates"][template_name] for locale, each in said.items()}
    declared = ENTRIES[path]
    defaults = asdict(declared(name=""))
    yield from _fields(template["items"], texts, defaults, _Place("", f"{path}[]."))


def _texts(which: str, item: Item, said: Texts) -> dict[str, str]:
    return {locale: str(each.get(which, item[which])) for locale, each in said.items()}


def _labels(place: int, said: Texts) -> dict[str, str]:
    return {locale: str(each["labels"][place]) for locale, each in said.items()}


def _said(group: Item, name: str) -> Item:
    # a template's own name stands where the text of its key `name` would
    said = group.get(name)
    return said if isinstance(said, Mapping) else {}


def _kind(item: Item) -> str:
    return "choice" if "options" in item else _KINDS.get(item["type"], item["type"])
