"""AstrBot's configuration of the plugin, read once into frozen `Settings`.

A value that cannot be used is a problem with a text for the log; its key keeps the default, a
static agent with such a value is left out, and the rest of the configuration works. Defaults live
in `manager/settings.py` only. Nothing here knows AstrBot: it takes any mapping.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

from ..manager.names import name_key
from ..manager.settings import Settings, StaticAgentSettings
from .config_values import NAME_ACCEPTED, Unusable, reader_of

_OF_THE_PAGE = frozenset({"__template_key", "template"})
"""Keys that AstrBot's configuration page adds to an entry of a list."""


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
    """True when the static agent to which the key belongs is left out."""

    @property
    def text(self) -> str:
        """One line for the log."""
        if self.unknown:
            return f"`{self.key}` ({self.found}) is no setting and is ignored. {self.accepted}"
        name = f"`{self.key}`" if self.key else "the configuration"
        found = f"a {self.found} that does not fit was found" if self.found else "it is missing"
        outcome = "this sub-agent is left out" if self.entry else "the default is used"
        return f"{name} takes {self.accepted}; {found}, so {outcome}."


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


class _Reading:
    """One pass over a configuration, collecting what is wrong with it."""

    def __init__(self, *, entry: bool = False) -> None:
        self.problems: list[ConfigProblem] = []
        self._entry = entry

    def group(self, declared: type[Any], raw: object, *, prefix: str) -> dict[str, Any]:
        """Return the usable values of a group; keys that are left out keep their defaults."""
        if not isinstance(raw, Mapping):
            self.report(prefix.removesuffix("."), raw, "a group of settings")
            return {}
        hints = get_type_hints(declared)
        values: dict[str, Any] = {}
        for each in fields(declared):
            if each.name not in raw:
                self._check_optional(each, prefix)
                continue
            key = prefix + each.name
            try:
                values[each.name] = self._value(hints[each.name], raw[each.name], key=key)
            except Unusable as unusable:
                self.report(key, raw[each.name], str(unusable))
        for name in (each for each in raw if each not in hints):
            self._report_unknown(prefix, name, raw[name], tuple(hints))
        return values

    def report(self, key: str, value: object, accepted: str) -> None:
        """Take down a value that does not fit."""
        found = type(value).__name__
        self._add(ConfigProblem(key=key, found=found, accepted=accepted, entry=self._entry))

    def _value(self, hint: Any, value: object, *, key: str) -> object:
        if isinstance(hint, type) and is_dataclass(hint):
            return hint(**self.group(hint, value, prefix=f"{key}."))
        if StaticAgentSettings in get_args(hint):
            return self._static_agents(value, key=key)
        return reader_of(hint, key)(value)

    def _static_agents(self, raw: object, *, key: str) -> tuple[StaticAgentSettings, ...]:
        if not isinstance(raw, list | tuple):
            raise Unusable("a list of groups of settings")
        agents: list[StaticAgentSettings] = []
        names: set[str] = set()
        for number, entry in enumerate(raw):
            place = f"{key}[{number}]"
            agent = self._static_agent(entry, prefix=f"{place}.")
            if agent is None:
                continue
            if agent.enabled and name_key(agent.name) in names:
                self._add(
                    ConfigProblem(
                        key=f"{place}.name",
                        found="str",
                        accepted="a name that no other entry has, capitals or not",
                        entry=True,
                    )
                )
                continue
            if agent.enabled:
                names.add(name_key(agent.name))
            agents.append(agent)
        return tuple(agents)

    def _static_agent(self, raw: object, *, prefix: str) -> StaticAgentSettings | None:
        """Read one entry; None when something in it cannot be used."""
        if isinstance(raw, Mapping):
            raw = {key: value for key, value in raw.items() if key not in _OF_THE_PAGE}
        reading = _Reading(entry=True)
        values = reading.group(StaticAgentSettings, raw, prefix=prefix)
        self.problems.extend(reading.problems)
        if any(not problem.unknown for problem in reading.problems):
            return None
        return StaticAgentSettings(**values)

    def _check_optional(self, left_out: Field[Any], prefix: str) -> None:
        if left_out.default is MISSING and left_out.default_factory is MISSING:
            key = prefix + left_out.name
            self._add(ConfigProblem(key=key, found="", accepted=NAME_ACCEPTED, entry=self._entry))

    def _report_unknown(
        self, prefix: str, name: object, value: object, known: tuple[str, ...]
    ) -> None:
        near = get_close_matches(str(name), known, n=1)
        advice = f"Did you mean `{prefix}{near[0]}`?" if near else f"Known: {', '.join(known)}."
        found = type(value).__name__
        self._add(ConfigProblem(key=f"{prefix}{name}", found=found, accepted=advice, unknown=True))

    def _add(self, problem: ConfigProblem) -> None:
        self.problems.append(problem)
