"""Public doubles of the ports: settings that are kept in memory, and a catalog that is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..manager.models import SessionId
from ..manager.settings import StaticAgentSettings
from .ports import FieldRecord, InvalidSettings, SettingsChanged, SettingsNotSaved

_TITLE = MappingProxyType(
    {"en-US": "Master switch", "ru-RU": "Главный выключатель", "zh-CN": "总开关"}
)


def a_field(key: str = "enabled", **changes: Any) -> FieldRecord:
    """What a form needs to know of one setting."""
    field_record = {
        "key": key,
        "type": "bool",
        "default": True,
        "group": key.rpartition(".")[0],
        "title": dict(_TITLE),
        "hint": dict.fromkeys(_TITLE, ""),
    }
    return field_record | changes


@dataclass(slots=True, kw_only=True)
class FakeSettings:
    """See `SettingsDesk`; it takes any value but those that a test forbids."""

    saved: dict[str, Any] = field(default_factory=lambda: {"enabled": True})
    """By dotted key."""
    agents: list[Mapping[str, Any]] = field(default_factory=list)
    forbidden: dict[str, str] = field(default_factory=dict)
    """What is wrong with a key, whatever its value."""
    is_full: bool = False
    """Nothing can be written."""
    savings: int = 0
    """How often something was saved, which is the revision."""

    def values(self) -> Mapping[str, Any]:
        """See `SettingsDesk.values`."""
        nested: dict[str, Any] = {}
        for key, value in self.saved.items():
            *groups, name = key.split(".")
            group = nested
            for each in groups:
                group = group.setdefault(each, {})
            group[name] = value
        return nested

    def revision(self) -> str:
        """See `SettingsDesk.revision`."""
        return str(self.savings)

    def schema(self) -> Sequence[FieldRecord]:
        """See `SettingsDesk.schema`."""
        return [a_field(key) for key in self.saved]

    def problems(self) -> Sequence[tuple[str, str]]:
        """See `SettingsDesk.problems`."""
        return []

    def restart_needed(self) -> Sequence[str]:
        """See `SettingsDesk.restart_needed`."""
        return []

    def save(self, values: Mapping[str, Any], *, seen: str | None = None) -> None:
        """See `SettingsDesk.save`."""
        self._check(seen)
        if wrong := {key: self.forbidden[key] for key in values if key in self.forbidden}:
            raise InvalidSettings(wrong)
        if self.is_full:
            raise SettingsNotSaved("no space left on the device")
        self.saved.update(values)
        self.savings += 1

    def static_agents(self) -> Sequence[Mapping[str, Any]]:
        """See `SettingsDesk.static_agents`."""
        return list(self.agents)

    def static_problems(self) -> Sequence[tuple[str, str]]:
        """See `SettingsDesk.static_problems`."""
        return []

    def static_revision(self) -> str:
        """See `SettingsDesk.static_revision`."""
        return str(self.savings)

    def static_schema(self) -> Sequence[FieldRecord]:
        """See `SettingsDesk.static_schema`."""
        return [a_field("name", type="text", default="")]

    def save_static(self, items: Sequence[Mapping[str, Any]], *, seen: str | None = None) -> None:
        """See `SettingsDesk.save_static`."""
        self._check(seen)
        if self.is_full:
            raise SettingsNotSaved("no space left on the device")
        self.agents = list(items)
        self.savings += 1

    def _check(self, seen: str | None) -> None:
        if seen not in {None, self.revision()}:
            raise SettingsChanged


@dataclass(slots=True, kw_only=True)
class FakeCatalog:
    """See `Catalog`."""

    core: Sequence[StaticAgentSettings] = ()

    def tools(self, session: SessionId | None) -> Sequence[tuple[str, str]]:
        """See `Catalog.tools`."""
        return [("search", "Searches the web."), ("write", "Writes a file.")]

    def skills(self, session: SessionId | None) -> Sequence[str]:
        """See `Catalog.skills`."""
        return ["drawing"]

    def providers(self) -> Sequence[tuple[str, str]]:
        """See `Catalog.providers`."""
        return [("main", "a-model")]

    def personas(self) -> Sequence[str]:
        """See `Catalog.personas`."""
        return ["pirate"]

    def core_agents(self) -> Sequence[StaticAgentSettings]:
        """See `Catalog.core_agents`."""
        return self.core
