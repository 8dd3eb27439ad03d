"""The dashboard's own server against whoever has no token: nothing is logged of their making."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_subagents.dashboard_api.server import door as door_module
from support.dashboard_site import LONG, Site, site


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Site]:
    (tmp_path / "index.html").write_text("<h1>the page</h1>")
    async with site(tmp_path) as opened:
        yield opened


async def test_a_path_that_is_too_long_for_a_file_is_not_found(
    door: Site, caplog: pytest.LogCaptureFixture
) -> None:
    path = "/" + "a" * 5_000 + ".js"
    async with door.visitor(signed_in=False) as client, client.get(path) as response:
        assert response.status == 404

    assert caplog.records == []


async def test_a_login_that_breaks_off_is_no_error_of_ours(
    door: Site, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    writer.write(_login(length=100) + b'{"tok')
    await writer.drain()
    writer.close()
    await writer.wait_closed()

    async with door.visitor(signed_in=False) as client, client.get("/") as response:
        assert response.status == 200
    assert caplog.records == []


async def test_a_body_that_comes_too_slowly_is_not_waited_for(
    door: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "_BODY_SECONDS", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    writer.write(_login(length=100) + b'{"tok')
    await writer.drain()

    async with asyncio.timeout(LONG):
        answer = await reader.readuntil(b"}}")
    writer.close()
    await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in answer


def _login(*, length: int) -> bytes:
    lines = (
        "POST /api/login HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    )
    return "\r\n".join((*lines, "", "")).encode()
