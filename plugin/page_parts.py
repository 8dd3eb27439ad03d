"""Puts the dashboard's API together on AstrBot."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrbot.api.star import Context

from ..dashboard_api.api import Api
from ..dashboard_api.dashboard import Dashboard
from ..manager import Services, Sessions, Settings
from .catalog import AstrBotCatalog
from .live_settings import LiveSettings
from .page_catalog import AstrBotChoices
from .page_settings import AstrBotSettings
from .persona import persona_ids
from .references import unknown_references
from .setting_fields import SettingFields
from .static_agents import StaticAgents

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"^version: *v?(\S+)", re.MULTILINE)


class PageParts:
    """Makes an API of what exists while the plugin is on."""

    def __init__(
        self, context: Context, config: Any, settings: LiveSettings, host: AstrBotCatalog
    ) -> None:
        """Set it up.

        Args:
            context: AstrBot's side.
            config: AstrBot's configuration of the plugin.
            settings: What the plugin works by.
            host: AstrBot behind the core's port.
        """
        self._context = context
        self._config = config
        self._settings = settings
        self._host = host

    def api(self, sessions: Sessions, services: Services, static: StaticAgents) -> Api:
        """The API of a core that was started."""
        desk = AstrBotSettings(
            self._config, self._settings, SettingFields(_ROOT), self.unknown_references
        )
        url = self._settings.configured().database_url
        return Api(
            Dashboard(
                services=services,
                sessions=sessions,
                settings=desk,
                catalog=AstrBotChoices(self._context, self._host, self._settings.current),
                static_agents=static.all,
                store_kind="postgresql" if url.startswith("postgresql") else "sqlite",
                version=_version(),
                started_at=services.clock.now(),
            )
        )

    def unknown_references(self, settings: Settings) -> "Iterable[str]":
        """Tell of models and personas in the settings that AstrBot does not have.

        At boot AstrBot loads plugins before its providers: then there is nothing to say yet.
        """
        providers = self._host.provider_ids()
        if not providers:
            return ()
        return unknown_references(
            settings, providers=providers, personas=persona_ids(self._context)
        )


def _version() -> str:
    found = _VERSION.search((_ROOT / "metadata.yaml").read_text("utf-8"))
    return found[1] if found else ""
