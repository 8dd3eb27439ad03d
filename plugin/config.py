"""AstrBot's configuration of the plugin, read once into frozen `Settings`.

A value that cannot be used is a problem with a text for the log; its key keeps the default and the
rest of the configuration works. Defaults live in `manager/settings.py` only. Nothing here knows
AstrBot: it takes any mapping.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, get_type_hints

from ..manager.settings import Settings

_LEAST: Mapping[str, int] = MappingProxyType(
    {
        "max_steps": 1,
        "max_parallel_per_session": 1,
        "max_parallel_total": 1,
        "same_call_limit": 1,
        "result_maxlen": 200,
    }
)
"""The smallest allowed number of a key; 0 for every number that is not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One key of the configuration that could not be used; its value is never kept or shown."""

    key: str
    """Dotted, such as `dynamic_agents.enabled`; "" is the configuration as a whole."""
    found: str
    """The type of what was there."""
    accepted: str
    """What the key takes; for a name that is no key: which keys there are."""
    unknown: bool = False
    """True when there is no such key."""

    @property
    def text(self) -> str:
        """One line for the log."""
        if self.unknown:
            return f"`{self.key}` ({self.found}) is no setting and is ignored. {self.accepted}"
        name = f"`{self.key}`" if self.key else "the configuration"
        return (
            f"{name} takes {self.accepted}; a {self.found} that does not fit was found, "
            "so the default is used."
        )


def parse_settings(raw: object) -> tuple[Settings, tuple[ConfigProblem, ...]]:
    """Read a configuration.

    Args:
        raw: What AstrBot hands over: a mapping of keys to JSON values; groups are mappings too.

    Returns:
        Settings that can be used in any case, and what was wrong, in the order of the keys.
    """
    reading = _Reading()
    values = reading.group(Settings, raw, prefix="")
    return Settings(**values), tuple(reading.problems)


class _Unusable(Exception):
    """A value does not fit; the text says what would."""


class _Reading:
    """One pass over a configuration, collecting what is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[ConfigProblem] = []

    def group(self, declared: type[Any], raw: object, *, prefix: str) -> dict[str, Any]:
        """Return the usable values of a group; keys that are left out keep their defaults."""
        if not isinstance(raw, Mapping):
            self._report(prefix.removesuffix("."), raw, "a group of settings")
            return {}
        hints = get_type_hints(declared)
        values: dict[str, Any] = {}
        for name in (each.name for each in fields(declared) if each.name in raw):
            try:
                values[name] = self._value(hints[name], raw[name], key=prefix + name)
            except _Unusable as unusable:
                self._report(prefix + name, raw[name], str(unusable))
        for name in (each for each in raw if each not in hints):
            self._report_unknown(prefix, name, raw[name], tuple(hints))
        return values

    def _value(self, hint: Any, value: object, *, key: str) -> object:
        if isinstance(hint, type) and is_dataclass(hint):
            return hint(**self.group(hint, value, prefix=f"{key}."))
        return _READERS[hint](value, _LEAST.get(key, 0))

    def _report(self, key: str, value: object, accepted: str) -> None:
        found = type(value).__name__
        self.problems.append(ConfigProblem(key=key, found=found, accepted=accepted))

    def _report_unknown(
        self, prefix: str, name: object, value: object, known: tuple[str, ...]
    ) -> None:
        near = get_close_matches(str(name), known, n=1)
        advice = f"Did you mean `{prefix}{near[0]}`?" if near else f"Known: {', '.join(known)}."
        self.problems.append(
            ConfigProblem(
                key=f"{prefix}{name}", found=type(value).__name__, accepted=advice, unknown=True
            )
        )


def _read_bool(value: object, least: int) -> bool:
    if not isinstance(value, bool):
        raise _Unusable("true or false")
    return value


def _read_int(value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _Unusable(f"a whole number of at least {least}")
    return value


def _read_float(value: object, least: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Unusable(f"a number of at least {least}")
    # Python's JSON reader takes NaN and Infinity, which no clock can use.
    if not least <= value < math.inf:
        raise _Unusable(f"a number of at least {least}")
    return value


def _read_text(value: object, least: int) -> str:
    if not isinstance(value, str):
        raise _Unusable("a text")
    return value


def _read_names(value: object, least: int) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise _Unusable("a list of texts")
    return tuple(name for each in value if (name := each.strip()))


_READERS: Mapping[Any, Callable[[object, int], object]] = MappingProxyType(
    {
        bool: _read_bool,
        int: _read_int,
        float: _read_float,
        str: _read_text,
        tuple[str, ...]: _read_names,
    }
)
