"""AstrBot's WebUI in the test's own process: its real routes and login, on a free port.

`webui` shows the same in a browser; here a test asks over HTTP, and can see inside the plugin.
"""

import asyncio
import importlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import aiohttp

from .astrbot_host import Bot
from .astrbot_root import PASSWORD, PLUGIN_NAME, USER

_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the WebUI answered."""

    status: int
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WebUiInside:
    """The WebUI as somebody uses it who has signed in, or not."""

    url: str
    client: aiohttp.ClientSession

    async def get(self, path: str, **query: str) -> Asked:
        """Ask the plugin's API as the page does."""
        async with self.client.get(self.address(path), params=query) as response:
            return Asked(status=response.status, body=await response.json())

    async def post(self, path: str, body: Any) -> Asked:
        """Have the plugin's API do something, as the page does."""
        # in pieces: aiohttp warns of large ones
        data, headers = BytesIO(json.dumps(body).encode()), {"Content-Type": "application/json"}
        async with self.client.post(self.address(path), data=data, headers=headers) as response:
            return Asked(status=response.status, body=await response.json())

    def address(self, path: str) -> str:
        """Where the bridge asks for a path of the plugin's API."""
        return f"{self.url}/api/v1/plugins/extensions/{PLUGIN_NAME}/{path}"


@asynccontextmanager
async def webui_inside(bot: Bot, *, signed_in: bool = True) -> AsyncIterator[WebUiInside]:
    """Serve the WebUI of a running AstrBot."""
    server = importlib.import_module("astrbot.dashboard.server")
    hypercorn = importlib.import_module("hypercorn.asyncio")
    config = importlib.import_module("hypercorn.config").Config()
    port = free_port()
    config.bind = [f"127.0.0.1:{port}"]
    config.graceful_timeout = 0.1
    stopping = asyncio.Event()
    dashboard = server.AstrBotDashboard(bot.lifecycle, bot.lifecycle.db, stopping, None)
    serving = asyncio.create_task(
        hypercorn.serve(dashboard.asgi_app, config, shutdown_trigger=stopping.wait)
    )
    try:
        url = f"http://127.0.0.1:{port}"
        await until_it_listens(port)
        headers = await _token(url) if signed_in else {}
        async with aiohttp.ClientSession(headers=headers) as client:
            yield WebUiInside(url=url, client=client)
    finally:
        stopping.set()
        async with asyncio.timeout(_SECONDS):
            await serving


async def _token(url: str) -> dict[str, str]:
    body = {"username": USER, "password": PASSWORD}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{url}/api/v1/auth/login", json=body) as response,
    ):
        token = (await response.json())["data"]["token"]
    return {"Authorization": f"Bearer {token}"}


async def until_it_listens(port: int) -> None:
    """Wait until somebody listens at a port of this machine."""
    # A server tells nobody that it listens.
    async with asyncio.timeout(_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                await writer.wait_closed()
                return


def free_port() -> int:
    """A port at which nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port: int = listening.getsockname()[1]
        return port
