"""The server as the settings want it: started, moved and stopped when they change.

What cannot be served is told in the log, and everything else of the plugin goes on.
"""

import asyncio
import logging
from pathlib import Path

from ...manager.host import Clock
from ...manager.settings import DashboardSettings
from .addresses import is_loopback
from .port import Served
from .server import CannotListen, DashboardServer, Place
from .token_file import TOKEN_FILE, token_in

logger = logging.getLogger(__name__)

_OFF = DashboardSettings(enabled=False)


class StandAlone:
    """Owns at most one server."""

    def __init__(self, api: Served, *, pages: Path, folder: Path, clock: Clock) -> None:
        """Set it up; nothing listens yet.

        Args:
            api: What is served; it is closed by its owner.
            pages: The folder of the page's files.
            folder: The plugin's data folder, where a token is kept that nobody set.
            clock: For the login.
        """
        self._api = api
        self._pages = pages
        self._folder = folder
        self._clock = clock
        self._wanted = _OFF
        self._server: DashboardServer | None = None
        self._changing = asyncio.Lock()

    async def follow(self, wanted: DashboardSettings) -> None:
        """Do as the settings say; the same ones again change nothing."""
        async with self._changing:
            if wanted == self._wanted:
                return
            self._wanted = wanted
            await self._stop()
            if wanted.enabled and (why_not := await self._start(wanted)) is not None:
                # tried again when settings are saved the next time
                self._wanted = _OFF
                logger.error("The dashboard is not served by itself: %s", why_not)

    async def stop(self) -> None:
        """End the server."""
        await self.follow(_OFF)

    async def _start(self, wanted: DashboardSettings) -> CannotListen | None:
        try:
            server = DashboardServer(
                self._api, self._place(wanted), pages=self._pages, clock=self._clock
            )
            await server.start()
        except CannotListen as error:
            return error
        self._server = server
        logger.info(
            "The dashboard is served at %s; its login asks for %s.",
            _url(wanted.host, server.port),
            "`dashboard.token`" if wanted.token else f"what is in {self._folder / TOKEN_FILE}",
        )
        return None

    async def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop()

    def _place(self, wanted: DashboardSettings) -> Place:
        token = wanted.token
        if not token and not is_loopback(wanted.host):
            raise CannotListen(
                f"at {wanted.host} others can reach it, so it needs a token. Set "
                "`dashboard.token`, or set `dashboard.host` to 127.0.0.1."
            )
        if not token:
            try:
                token = token_in(self._folder)
            except OSError as error:
                raise CannotListen(
                    f"no token is set, and none can be kept in the plugin's data folder: "
                    f"{error.strerror}. Set `dashboard.token`."
                ) from error
        return Place(host=wanted.host, port=wanted.port, token=token)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
