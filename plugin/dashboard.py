"""The dashboard's two doors, for as long as the plugin is loaded: AstrBot's WebUI, and a server.

Both are open before the store is, and say then that the plugin is off.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from astrbot.api.star import Context

from ..dashboard_api.server import StandAlone
from ..manager.host import Clock
from .live_settings import LiveSettings
from .owned_tasks import OwnedTasks
from .page_api import PageApi
from .web import WebRoutes

if TYPE_CHECKING:
    from collections.abc import Callable

PLUGIN_ROOT = Path(__file__).parents[1]
_PAGES = PLUGIN_ROOT / "pages" / "subagents"
_MOVE_SECONDS = 5.0


class DashboardDoors:
    """Opens and closes them, and follows the settings."""

    def __init__(
        self, context: Context, settings: LiveSettings, clock: Clock, *, folder: Path, plugin: str
    ) -> None:
        """Set it up.

        Args:
            context: AstrBot's side.
            settings: Say where the server is.
            clock: For the server's login.
            folder: The plugin's data folder.
            plugin: The plugin's name.
        """
        self.api = PageApi()
        """What both lead to."""
        self._settings = settings
        self._routes = WebRoutes(context, self.api, plugin=plugin)
        self._server = StandAlone(self.api, pages=_PAGES, folder=folder, clock=clock)
        self._moves = OwnedTasks()
        self._unfollow: Callable[[], None] | None = None

    async def open(self) -> None:
        """Open both."""
        self._routes.open()
        self._unfollow = self._settings.follow(self._move)
        await self._server.follow(self._settings.current().dashboard)

    async def close(self) -> None:
        """Close both, and end what is under way in them."""
        self._routes.close()
        if self._unfollow is not None:
            self._unfollow()
            self._unfollow = None
        await self.api.switch_off()
        await self._moves.finish(seconds=_MOVE_SECONDS)
        await self._server.stop()

    def _move(self) -> None:
        # Not waited for: the request that saves the settings may have come to the server itself.
        self._moves.start(
            self._server.follow(self._settings.current().dashboard), what="Moving the dashboard"
        )
