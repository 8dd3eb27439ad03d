"""The settings behind the dashboard's port, with a configuration as AstrBot keeps one."""

import copy
from pathlib import Path
from typing import Any

from astrbot_plugin_subagents.plugin.config import parse_settings
from astrbot_plugin_subagents.plugin.live_settings import LiveSettings
from astrbot_plugin_subagents.plugin.page_settings import AstrBotSettings
from astrbot_plugin_subagents.plugin.setting_fields import SettingFields

FIELDS = SettingFields(Path(__file__).parents[2])


class Config(dict[str, Any]):
    """As AstrBot's: a mapping that writes itself into a file."""

    def __init__(self, **values: Any) -> None:
        super().__init__(values)
        self.file: dict[str, Any] = copy.deepcopy(values)
        self.error: Exception | None = None

    def save_config(self, replace_config: dict[str, Any]) -> None:
        """Take other values and write them all."""
        self.update(replace_config)
        if self.error is not None:
            raise self.error
        self.file = copy.deepcopy(dict(self))


class Desk:
    """The settings behind the port, with what is around them."""

    def __init__(self, **values: Any) -> None:
        self.config = Config(**values)
        configured, _ = parse_settings(self.config)
        self.live = LiveSettings(configured)
        self.port = AstrBotSettings(
            self.config, self.live, FIELDS, lambda settings: [f"{settings.max_steps} is told."]
        )
