"""The dashboard's own server as settings want it: where it listens, and what it never does."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from astrbot_plugin_subagents.dashboard_api.server import StandAlone
from astrbot_plugin_subagents.dashboard_api.server.token_file import TOKEN_FILE
from astrbot_plugin_subagents.manager.settings import DashboardSettings
from astrbot_plugin_subagents.manager.testing import FakeClock
from support.dashboard_site import LONG, TOKEN, EchoApi


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<h1>the page</h1>")
    return tmp_path


@pytest.fixture
async def dashboard(folder: Path) -> AsyncIterator[StandAlone]:
    made = StandAlone(EchoApi(), pages=folder, folder=folder, clock=FakeClock())
    yield made
    await made.stop()


@pytest.fixture
def wanted() -> DashboardSettings:
    """Served at a port that is free."""
    return DashboardSettings(enabled=True, port=free_port(), token=TOKEN)


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> None:
    """Have all told in the log that concerns people."""
    caplog.set_level(logging.INFO, logger="astrbot_plugin_subagents.dashboard_api")


async def test_it_is_off_unless_somebody_wants_it(dashboard: StandAlone) -> None:
    settings = replace(DashboardSettings(), port=free_port())

    await dashboard.follow(settings)

    assert settings.enabled is False
    assert await login(settings.port, TOKEN) is None


async def test_it_listens_where_the_settings_say_and_moves_with_them(
    dashboard: StandAlone, wanted: DashboardSettings
) -> None:
    moved = replace(wanted, port=free_port())

    await dashboard.follow(wanted)
    first = await login(wanted.port, TOKEN)
    await dashboard.follow(moved)
    old, new = await login(wanted.port, TOKEN), await login(moved.port, TOKEN)
    await dashboard.follow(replace(moved, enabled=False))
    off = await login(moved.port, TOKEN)

    assert (first, old, new, off) == (200, None, 200, None)


async def test_another_token_signs_everybody_out(
    dashboard: StandAlone, wanted: DashboardSettings
) -> None:
    await dashboard.follow(wanted)
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{wanted.port}", cookie_jar=aiohttp.CookieJar(unsafe=True)
    ) as client:
        async with client.post("/api/login", json={"token": TOKEN}) as response:
            assert response.status == 200
        await dashboard.follow(wanted)
        async with client.get("/api/overview") as response:
            same = response.status
        await dashboard.follow(replace(wanted, token=f"another {TOKEN}"))
        async with client.get("/api/overview") as response:
            other = response.status

    assert (same, other) == (200, 401)
    assert await login(wanted.port, TOKEN) == 401


async def test_without_a_token_it_makes_one_and_says_where_it_is(
    dashboard: StandAlone, wanted: DashboardSettings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await dashboard.follow(replace(wanted, token=""))
    token = (folder / TOKEN_FILE).read_text().strip()

    assert await login(wanted.port, "") == 401
    assert await login(wanted.port, token) == 200
    assert caplog.messages == [
        (
            f"The dashboard is served at http://127.0.0.1:{wanted.port}/; its login asks for what "
            f"is in {folder / TOKEN_FILE}."
        ),
        "A login with a wrong token from 127.0.0.1",
    ]


async def test_it_does_not_listen_to_others_without_a_token_that_somebody_chose(
    dashboard: StandAlone, wanted: DashboardSettings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await dashboard.follow(replace(wanted, host="0.0.0.0", token=""))

    assert await login(wanted.port, TOKEN) is None
    assert not (folder / TOKEN_FILE).exists()
    assert caplog.messages == [
        (
            "The dashboard is not served by itself: at 0.0.0.0 others can reach it, so it needs a "
            "token. Set `dashboard.token`, or set `dashboard.host` to 127.0.0.1."
        )
    ]


async def test_a_port_in_use_is_told_and_tried_again_with_the_next_settings(
    dashboard: StandAlone, wanted: DashboardSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(socket.create_server(("127.0.0.1", wanted.port))):
        await dashboard.follow(wanted)
    told = caplog.messages
    await dashboard.follow(wanted)

    assert told == [
        (
            f"The dashboard is not served by itself: port {wanted.port} of 127.0.0.1 is in use by "
            "another program. Stop that one, or set `dashboard.port` to another."
        )
    ]
    assert await login(wanted.port, TOKEN) == 200


async def test_no_folder_for_its_own_token_is_told(
    wanted: DashboardSettings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = StandAlone(EchoApi(), pages=folder, folder=folder / "nowhere", clock=FakeClock())

    await nowhere.follow(replace(wanted, token=""))

    (line,) = caplog.messages
    assert "none can be kept in the plugin's data folder: No such file or directory." in line
    assert await login(wanted.port, TOKEN) is None


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port: int = listening.getsockname()[1]
        return port


async def login(port: int, token: str) -> int | None:
    """Try to sign in; return the status, or None when nobody listens."""
    async with aiohttp.ClientSession() as client, asyncio.timeout(LONG):
        try:
            url = f"http://127.0.0.1:{port}/api/login"
            async with client.post(url, json={"token": token}) as response:
                return response.status
        except aiohttp.ClientConnectorError:
            return None
