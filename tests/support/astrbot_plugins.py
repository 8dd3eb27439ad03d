"""The plugins of a running AstrBot: ours and the small ones of tests, loaded and unloaded.

It drives AstrBot's own plugin manager, as its WebUI does.
"""

import importlib
from typing import Any

from .astrbot_root import PLUGIN_NAME, AstrBotRoot


class PluginDidNotLoad(RuntimeError):
    """AstrBot could not load a plugin; the text is AstrBot's own."""


class Plugins:
    """Installs, reloads, disables and uninstalls plugins."""

    def __init__(self, manager: Any, root: AstrBotRoot) -> None:
        self._manager = manager
        self._root = root
        self._is_configured = False

    @property
    def ours(self) -> Any:
        """The Star of this repository's plugin, as AstrBot loaded it.

        Raises:
            LookupError: It is not installed or not enabled.
        """
        return self.star(PLUGIN_NAME)

    def star(self, name: str) -> Any:
        """Return the Star of any plugin.

        Raises:
            LookupError: No such plugin is loaded and enabled.
        """
        found = self._manager.context.get_registered_star(name)
        if found is None or not found.activated or found.star_cls is None:
            raise LookupError(f"AstrBot runs no plugin {name!r}")
        return found.star_cls

    def check(self) -> None:
        """Make sure that every plugin in the folder was loaded.

        Raises:
            PluginDidNotLoad: With AstrBot's texts.
        """
        failed = self._manager.failed_plugin_dict
        if failed:
            texts = (f"{name}: {_reason(record)}" for name, record in failed.items())
            raise PluginDidNotLoad("\n".join(texts))

    async def install(self, config: dict[str, Any] | None = None) -> None:
        """Install this repository's plugin into the running AstrBot."""
        self._root.install_plugin(config)
        await self._load(PLUGIN_NAME)

    async def add(self, name: str, source: str) -> Any:
        """Install a small plugin of a test and return its Star."""
        self._root.add_plugin(name, source)
        await self._load(name)
        return self.star(name)

    async def reload(
        self, name: str = PLUGIN_NAME, *, config: dict[str, Any] | None = None
    ) -> None:
        """Load a plugin anew, as AstrBot does when its configuration page saves.

        Args:
            name: The plugin.
            config: Our plugin's configuration from now on; None leaves it as it is.
        """
        if config is not None:
            self._root.configure_plugin(config)
        if name == PLUGIN_NAME:
            self._is_configured = False
        await self._manager.reload(name)
        self.check()

    def restore_later(self) -> None:
        """Note that our plugin has a test's configuration that nobody needs any more."""
        self._is_configured = True

    async def restore(self) -> None:
        """Load our plugin with its defaults if that was put off."""
        if self._is_configured:
            await self.reload(config={})

    async def disable(self, name: str = PLUGIN_NAME) -> None:
        """Switch a plugin off; it stays installed."""
        await self._manager.turn_off_plugin(name)

    async def enable(self, name: str = PLUGIN_NAME) -> None:
        """Switch a plugin on again."""
        await self._manager.turn_on_plugin(name)
        self.check()

    async def uninstall(self, name: str = PLUGIN_NAME) -> None:
        """Remove a plugin; its configuration and data stay, as AstrBot does it by default."""
        await self._manager.uninstall_plugin(name)

    async def forget_failed(self, name: str) -> None:
        """Remove a plugin that could not be loaded."""
        await self._manager.uninstall_failed_plugin(name)

    async def _load(self, name: str) -> None:
        importlib.invalidate_caches()
        await self._manager.load(specified_dir_name=name)
        self.check()


def _reason(record: Any) -> str:
    if isinstance(record, dict):
        return str(record.get("traceback") or record.get("error") or record)
    return str(record)
