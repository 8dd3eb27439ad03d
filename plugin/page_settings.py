"""The settings as the dashboard sees and saves them: AstrBot's configuration of the plugin.

Saving writes the file that AstrBot's own page writes, and changes what the plugin works by at
once; AstrBot reloads nothing then. All of it happens without a pause, so that two savings never
mix.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..dashboard_api.ports import InvalidSettings, SettingsNotSaved
from ..manager import Settings
from .config import parse_settings
from .live_settings import LiveSettings
from .setting_fields import STATIC_AGENTS, FieldRecord, SettingFields
from .setting_values import Values, changed, check, differing, shown, shown_agent

NEED_RESTART = ("database_url", "workers.enabled")
"""Settings that are read when the plugin starts and never again."""

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
        return shown(self._live.configured())

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

    def save(self, values: Mapping[str, Any]) -> None:
        """See `SettingsDesk.save`."""
        keys = self._fields.keys()
        wrong = {key: "There is no such setting." for key in values if key not in keys}
        if wrong:
            raise InvalidSettings(wrong)
        candidate = changed(self._config, self._fields.as_astrbot_writes(values))
        settings, wrong = check(self._config, candidate, values)
        if wrong:
            raise InvalidSettings({_dotted(key): text for key, text in wrong.items()})
        self._write(candidate)
        self._live.configure(settings)

    def static_agents(self) -> list[Values]:
        """See `SettingsDesk.static_agents`."""
        return [shown_agent(each) for each in self._live.configured().static_agents]

    def static_schema(self) -> Sequence[FieldRecord]:
        """See `SettingsDesk.static_schema`."""
        return self._fields.of_static_agents()

    def save_static(self, items: Sequence[Mapping[str, Any]]) -> None:
        """See `SettingsDesk.save_static`."""
        try:
            self.save({STATIC_AGENTS: list(items)})
        except InvalidSettings as error:
            raise InvalidSettings(
                {
                    re.sub(f"^{STATIC_AGENTS}", "items", key): text
                    for key, text in error.fields.items()
                }
            ) from error

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
