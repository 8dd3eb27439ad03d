"""AstrBot's configuration of the plugin, read once into frozen `Settings`.

A value that cannot be used is a problem with a text for the log; its key keeps the default, an
entry of a list with such a value is left out, and the rest of the configuration works. Defaults
live in `manager/settings.py` only. Nothing here knows AstrBot: it takes any mapping.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from ..manager.errors import UnknownReference
from ..manager.names import name_key
from ..manager.settings import CustomFilterSettings, Settings, StaticAgentSettings, TaskSettings
from ..manager.tool_filter import find_filter
from .config_values import Unusable, reader_of

type Entry = StaticAgentSettings | CustomFilterSettings

ENTRIES: Mapping[str, type[Entry]] = MappingProxyType(
    {"static_agents": StaticAgentSettings, "task.custom_filters": CustomFilterSettings}
)
"""By dotted key, the lists of groups of settings."""
OF_THE_PAGE = frozenset({"__template_key", "template"})
"""Keys that AstrBot's configuration page adds to an entry of a list."""
_OF_ASTRBOT = frozenset(
    f"dashboard.{name}"
    for name in (
        "pbkdf2_password",
        "password",
        "password_storage_upgraded",
        "password_change_required",
        "jwt_secret",
    )
)
"""Keys that AstrBot puts into any configuration with a group `dashboard`, since its own has one.

They mean nothing here. At each load it would make a new password, hash it for up to a second and
write the file, if there were none: so the schema has one that nobody sees
(`AstrBotConfig.__init__` in core/config/astrbot_config.py, 4.26 and 4.29).
"""
_ENTRIES_AT_MOST = 200
_UNKNOWN_AT_MOST = 20
"""Keys of a group that mean nothing and are told; there may be as many as a file can hold."""
_LONGEST_COMPARED = 64
"""Characters of such a key that are looked at for one that was meant."""
_STRICT = frozenset({CustomFilterSettings})
"""Entries in which every key counts: a filter whose `denied` is mistyped would deny nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One key of the configuration that could not be used; its value is never kept or shown."""

    key: str
    """Dotted, such as `dynamic_agents.enabled`; "" is the configuration as a whole."""
    found: str
    """The type of what was there; "" when nothing was."""
    accepted: str
    """What the key takes; for a name that is no key: which keys there are."""
    unknown: bool = False
    """True when there is no such key."""
    entry: bool = False
    """True when the entry of a list to which the key belongs is left out."""

    @property
    def text(self) -> str:
        """One line for the log."""
        if self.unknown:
            outcome = ", so this entry is left out" if self.entry else " and is ignored"
            return f"`{self.key}` ({self.found}) is no setting{outcome}. {self.accepted}"
        name = f"`{self.key}`" if self.key else "the configuration"
        found = f"a {self.found} that does not fit was found" if self.found else "it is missing"
        outcome = "this entry is left out" if self.entry else "the default is used"
        return f"{name} takes {self.accepted}; {found}, so {outcome}."


def parse_settings(raw: object) -> tuple[Settings, tuple[ConfigProblem, ...]]:
    """Read a configuration.

    Args:
        raw: What AstrBot hands over: a mapping of keys to JSON values; groups are mappings too.

    Returns:
        Settings that can be used in any case, and what was wrong: in the order of the keys, then
        what one key says of another.
    """
    reading = _Reading()
    values = reading.group(Settings, raw, prefix="")
    settings = _with_a_known_filter(Settings(**values), reading)
    return settings, tuple(reading.problems)


def usable_values(declared: type[Entry], raw: object) -> dict[str, Any]:
    """What of an entry of a list can be used, by key, as `Settings` holds it."""
    if not isinstance(raw, Mapping):
        return {}
    prefix = next(key for key, each in ENTRIES.items() if each is declared)
    return _Reading(entry=True).group(declared, raw, prefix=f"{prefix}[0].")


def _with_a_known_filter(settings: Settings, reading: "_Reading") -> Settings:
    """Give back the default filter where the configured one does not exist."""
    task = settings.task
    try:
        find_filter(task.default_tool_filter, task)
    except UnknownReference as unknown:
        accepted = f"the name of a tool filter ({', '.join(unknown.known)})"
        reading.report("task.default_tool_filter", task.default_tool_filter, accepted)
        task = replace(task, default_tool_filter=TaskSettings().default_tool_filter)
    return replace(settings, task=task)


class _Reading:
    """One pass over a configuration, collecting what is wrong with it."""

    def __init__(self, *, entry: bool = False, strict: bool = False) -> None:
        self.problems: list[ConfigProblem] = []
        self._entry = entry
        self._strict = strict

    def group(self, declared: type[Any], raw: object, *, prefix: str) -> dict[str, Any]:
        """Return the usable values of a group; keys that are left out keep their defaults."""
        if not isinstance(raw, Mapping):
            self.report(prefix.removesuffix("."), raw, "a group of settings")
            return {}
        hints = get_type_hints(declared)
        values: dict[str, Any] = {}
        for each in fields(declared):
            if each.name not in raw and not _is_needed(each):
                continue
            key = prefix + each.name
            try:
                # what is needed reads as null where it is missing, and does not take it
                values[each.name] = self._value(hints[each.name], raw.get(each.name), key=key)
            except Unusable as unusable:
                found = type(raw[each.name]).__name__ if each.name in raw else ""
                self._add(key, found, str(unusable), entry=self._entry)
        unknown = [
            each for each in raw if each not in hints and f"{prefix}{each}" not in _OF_ASTRBOT
        ]
        for name in unknown[:_UNKNOWN_AT_MOST]:
            self._report_unknown(prefix, name, raw[name], tuple(hints))
        return values

    def report(self, key: str, value: object, accepted: str) -> None:
        """Take down a value that does not fit."""
        self._add(key, type(value).__name__, accepted, entry=self._entry)

    def _value(self, hint: Any, value: object, *, key: str) -> object:
        if isinstance(hint, type) and is_dataclass(hint):
            return hint(**self.group(hint, value, prefix=f"{key}."))
        for each in get_args(hint):
            if isinstance(each, type) and is_dataclass(each):
                return self._entries(each, value, key=key)
        return reader_of(hint, key)(value)

    def _entries(self, declared: type[Any], raw: object, *, key: str) -> tuple[Entry, ...]:
        """Read a list of groups of one kind, each with a name of its own."""
        if not isinstance(raw, list | tuple):
            raise Unusable("a list of groups of settings")
        if len(raw) > _ENTRIES_AT_MOST:
            raise Unusable(f"a list of at most {_ENTRIES_AT_MOST} groups of settings")
        entries: list[Entry] = []
        names: set[str] = set()
        for number, each in enumerate(raw):
            place = f"{key}[{number}]"
            entry = self._entry_of(declared, each, prefix=f"{place}.")
            if entry is None:
                continue
            name = _kept_name(entry)
            if name in names:
                accepted = "a name that no other entry has, capitals or not"
                self._add(f"{place}.name", "str", accepted, entry=True)
                continue
            if name is not None:
                names.add(name)
            entries.append(entry)
        return tuple(entries)

    def _entry_of(self, declared: type[Any], raw: object, *, prefix: str) -> Entry | None:
        """Read one entry; None when something in it cannot be used."""
        if isinstance(raw, Mapping):
            raw = {key: value for key, value in raw.items() if key not in OF_THE_PAGE}
        reading = _Reading(entry=True, strict=declared in _STRICT)
        values = reading.group(declared, raw, prefix=prefix)
        self.problems.extend(reading.problems)
        if any(problem.entry for problem in reading.problems):
            return None
        entry: Entry = declared(**values)
        return entry

    def _report_unknown(
        self, prefix: str, name: object, value: object, known: tuple[str, ...]
    ) -> None:
        near = get_close_matches(str(name)[:_LONGEST_COMPARED], known, n=1)
        advice = f"Did you mean `{prefix}{near[0]}`?" if near else f"Known: {', '.join(known)}."
        found = type(value).__name__
        self._add(f"{prefix}{name}", found, advice, unknown=True, entry=self._strict)

    def _add(
        self, key: str, found: str, accepted: str, *, unknown: bool = False, entry: bool = False
    ) -> None:
        self.problems.append(
            ConfigProblem(key=key, found=found, accepted=accepted, unknown=unknown, entry=entry)
        )


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _kept_name(entry: Entry) -> str | None:
    """The name that no later entry may have; None where it is kept from nobody."""
    if isinstance(entry, StaticAgentSettings) and not entry.enabled:
        return None
    return name_key(entry.name)
