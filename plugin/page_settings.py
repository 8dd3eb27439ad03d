"""The settings as the dashboard sees and saves them: AstrBot's configuration of the plugin.

Saving writes the file that AstrBot's own page writes, and changes what the plugin works by at
once; AstrBot reloads nothing then. All of it happens without a pause, so that two savings never
mix.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..dashboard_api.ports import InvalidSettings, SettingsChanged, SettingsNotSaved
from ..manager import Settings
from ..manager.errors import StoreUnavailable
from ..manager.store.address import FileAddress, parse_address
from .config import ENTRIES, parse_settings
from .live_settings import LiveSettings
from .page_entries import restored, shown_entries, tag_of
from .setting_fields import STATIC_AGENTS, FieldRecord, SettingFields
from .setting_values import Values, changed, check, differing, shown, value_at

NEED_RESTART = ("database_url", "workers.enabled")
"""Settings that are read when the plugin starts and never again."""

_DATABASE_URL = "database_url"
_ITEMS = "items"
"""What the API calls the static agents."""

type Problem = tuple[str, str]
"""A dotted key, "" where there is none, and a text."""


class AstrBotSettings:
    """See `SettingsDesk`."""

    def __init__(
        self,
        config: Any,
        live: LiveSettings,
        fields: SettingFields,
        unknown: Callable[[Settings], Iterable[str]],
    ) -> None:
        """Set it up.

        Args:
            config: AstrBot's configuration of the plugin, which can save itself.
            live: What the plugin works by.
            fields: What forms are made of.
            unknown: Tells of names in the settings that AstrBot does not know.
        """
        self._config = config
        self._live = live
        self._fields = fields
        self._unknown = unknown
        self._at_start = live.configured()

    def values(self) -> Values:
        """See `SettingsDesk.values`."""
        return shown(self._live.configured(), self._config)

    def revision(self) -> str:
        """See `SettingsDesk.revision`."""
        return tag_of({key: each for key, each in self._config.items() if key != STATIC_AGENTS})

    def schema(self) -> Sequence[FieldRecord]:
        """See `SettingsDesk.schema`."""
        return self._fields.all()

    def problems(self) -> list[Problem]:
        """See `SettingsDesk.problems`."""
        settings, problems = parse_settings(self._config)
        return [
            *((_dotted(each.key), each.text) for each in problems),
            *(("", text) for text in self._unknown(settings)),
        ]

    def restart_needed(self) -> list[str]:
        """See `SettingsDesk.restart_needed`."""
        return differing(self._at_start, self._live.configured(), NEED_RESTART)

    def save(self, values: Mapping[str, Any], *, seen: str | None = None) -> None:
        """See `SettingsDesk.save`."""
        if seen not in {None, self.revision()}:
            raise SettingsChanged
        self._save(values)

    def static_agents(self) -> list[Values]:
        """See `SettingsDesk.static_agents`."""
        raw = self._config.get(STATIC_AGENTS)
        return shown_entries(raw, ENTRIES[STATIC_AGENTS])

    def static_problems(self) -> list[Problem]:
        """See `SettingsDesk.static_problems`."""
        _, problems = parse_settings(self._config)
        ours = ((_of_items(_dotted(each.key)), each.text) for each in problems)
        return [(key, text) for key, text in ours if key.partition(".")[0] == _ITEMS]

    def static_revision(self) -> str:
        """See `SettingsDesk.static_revision`."""
        return tag_of(self._config.get(STATIC_AGENTS))

    def static_schema(self) -> Sequence[FieldRecord]:
        """See `SettingsDesk.static_schema`."""
        return self._fields.of_static_agents()

    def save_static(self, items: Sequence[Mapping[str, Any]], *, seen: str | None = None) -> None:
        """See `SettingsDesk.save_static`."""
        if seen not in {None, self.static_revision()}:
            raise SettingsChanged
        try:
            self._save({STATIC_AGENTS: list(items)})
        except InvalidSettings as error:
            fields = {_of_items(key): text for key, text in error.fields.items()}
            raise InvalidSettings(fields) from error

    def _save(self, values: Mapping[str, Any]) -> None:
        keys = self._fields.keys()
        wrong = {key: "There is no such setting." for key in values if key not in keys}
        if wrong:
            raise InvalidSettings(wrong)
        whole = {
            key: restored(each, value_at(self._config, key), ENTRIES[key])
            if key in ENTRIES
            else each
            for key, each in values.items()
        }
        candidate = changed(self._config, self._fields.as_astrbot_writes(whole))
        settings, wrong = check(self._config, candidate, values)
        if _DATABASE_URL in values and _DATABASE_URL not in wrong:
            wrong |= _unusable_address(settings.database_url)
        if wrong:
            raise InvalidSettings({_dotted(key): text for key, text in wrong.items()})
        self._write(candidate)
        self._live.configure(settings)

    def _write(self, candidate: Values) -> None:
        save = getattr(self._config, "save_config", None)
        if save is None:
            raise SettingsNotSaved("AstrBot has given the plugin no configuration")
        before = copy.deepcopy(dict(self._config))
        try:
            save(candidate)
        except (OSError, ValueError) as error:
            # the file is as it was, so memory is to be as well
            self._config.clear()
            self._config.update(before)
            raise SettingsNotSaved(getattr(error, "strerror", None) or str(error)) from error


def _dotted(key: str) -> str:
    """A key of the parser, with entries of a list as the API writes them: `a[0].b` is `a.0.b`."""
    return re.sub(r"\[(\d+)\]", r".\1", key)


def _of_items(key: str) -> str:
    return re.sub(f"^{STATIC_AGENTS}(?=$|[.])", _ITEMS, key)


def _unusable_address(url: str) -> dict[str, str]:
    """What is wrong with the address of a store: with a wrong one the next start finds none."""
    if not url:
        return {}
    try:
        address = parse_address(url)
    except StoreUnavailable as unusable:
        return {_DATABASE_URL: f"{unusable.problem[:1].upper()}{unusable.problem[1:]}."}
    if isinstance(address, FileAddress) and not address.path.is_absolute():
        return {_DATABASE_URL: "It takes an absolute path, or a URL of PostgreSQL."}
    return {}
