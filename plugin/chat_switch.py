"""Whether the plugin is on for a chat, decided as AstrBot decides it for message handlers.

A bot's profile lists its plugins (`plugin_set`), and a chat can switch a plugin off. AstrBot fires
model hooks for a chat that has switched the plugin off all the same, and tells nobody when either
is changed.
"""

from collections.abc import Callable

from astrbot.api.star import Context
from astrbot.core.star.session_plugin_manager import SessionPluginManager

from ..manager import SessionId, Settings


class ChatSwitch:
    """Looks all switches up anew each time, so that a change counts at once."""

    def __init__(self, context: Context, settings: Callable[[], Settings], *, plugin: str) -> None:
        self._context = context
        self._settings = settings
        self._plugin = plugin

    def may_be_on(self, session: SessionId) -> bool:
        """Whether the settings and the profile of the bot let this chat use the plugin now."""
        return self._settings().enabled and self._is_in_profile(session)

    async def is_on(self, session: SessionId) -> bool:
        """Whether this chat may use the plugin now; the chat's own switch is read from disk."""
        if not self.may_be_on(session):
            return False
        on: bool = await SessionPluginManager.is_plugin_enabled_for_session(session, self._plugin)
        return on

    def _is_in_profile(self, session: SessionId) -> bool:
        # As in `process` in AstrBot's core/pipeline/waking_check/stage.py and in
        # `get_handlers_by_event_type` in its core/star/star_handler.py.
        plugins = self._context.get_config(umo=session).get("plugin_set", ["*"])
        return plugins == ["*"] or self._plugin in plugins
