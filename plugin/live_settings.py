"""The settings in use: those of the configuration, with what other plugins have added to them."""

from collections.abc import Callable
from dataclasses import replace

from ..manager import Settings


class LiveSettings:
    """Answers what the settings are now."""

    def __init__(self, configured: Settings) -> None:
        self._configured = configured
        self._followers: list[Callable[[], None]] = []
        self._blacklisted: list[str] = []
        self._inherent: list[str] = []
        self._current = configured

    def current(self) -> Settings:
        """The settings of now."""
        return self._current

    def configured(self) -> Settings:
        """Those of the configuration alone."""
        return self._configured

    def configure(self, configured: Settings) -> None:
        """The configuration has changed; what other plugins have added stays."""
        self._configured = configured
        self._renew()

    def follow(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have a function called after each change; the returned one takes this back."""
        self._followers.append(changed)
        return lambda: self._followers.remove(changed)

    def add_blacklisted_tool(self, name: str) -> Callable[[], None]:
        """Keep a tool from all sub-agents; the returned function takes this back."""
        return self._add(self._blacklisted, name)

    def add_inherent_tool(self, name: str) -> Callable[[], None]:
        """Give a tool to all dynamic sub-agents; the returned function takes this back."""
        return self._add(self._inherent, name)

    def _add(self, added: list[str], name: str) -> Callable[[], None]:
        if not isinstance(name, str) or not name.strip():
            raise ValueError("the name of a tool is needed")
        name = name.strip()
        added.append(name)
        self._renew()
        is_added = True

        def take_back() -> None:
            nonlocal is_added
            if is_added:
                is_added = False
                added.remove(name)
                self._renew()

        return take_back

    def _renew(self) -> None:
        dynamic = self._configured.dynamic_agents
        self._current = replace(
            self._configured,
            dynamic_agents=replace(
                dynamic,
                tools_blacklist=_joined(dynamic.tools_blacklist, self._blacklisted),
                tools_inherent=_joined(dynamic.tools_inherent, self._inherent),
            ),
        )
        for changed in tuple(self._followers):
            changed()


def _joined(configured: tuple[str, ...], added: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*configured, *added)))
