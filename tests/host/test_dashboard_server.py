"""The dashboard's own server in a bot: it comes, moves and goes with plugin and settings."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import aiohttp
import pytest

from support.astrbot_host import Bot
from support.replies import call, say
from support.script import Script
from support.webui_inside import free_port, until_it_listens

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

TOKEN = "correct horse battery"
LONG = 30.0
"""Seconds after which a test that waits has failed."""


async def test_who_knows_the_token_sees_the_bots_chats(bot: Bot, model: Script) -> None:
    model.main(call("create_subagent", {"name": "digger", "system_prompt": "Dig."}), say("made"))
    port = free_port()
    async with served(bot, port):
        await bot.say("make one")
        async with signed_in(port) as client:
            page, overview = await client.get("/"), await client.get("/api/overview")
            text, body = await page.text(), await overview.json()

    assert page.status == 200
    assert '<div id="app"></div>' in text
    assert overview.status == 200
    assert body["totals"]["sessions"] >= 1
    assert TOKEN not in json.dumps(body)


async def test_the_server_goes_with_the_plugin(bot: Bot) -> None:
    port = free_port()
    async with served(bot, port), signed_in(port) as client, asyncio.timeout(LONG):
        async with client.get("/api/events") as stream:
            await stream.content.readuntil(b"\n\n")
            await bot.plugins.disable()
            last = await stream.content.read()
        gone = await status(port)
        await bot.plugins.enable()
        back = await status(port)

    assert b"event: gone" in last
    assert (gone, back) == (None, 200)


async def test_saving_another_port_on_the_page_moves_the_server_under_it(bot: Bot) -> None:
    port, other = free_port(), free_port()
    async with served(bot, port), signed_in(port) as client:
        star = bot.plugins.ours
        body = {"values": {"dashboard.port": other}}
        async with client.post("/api/settings/save", json=body) as response:
            saved = await response.json()
        await until_it_listens(other)
        assert await status(port) is None
        assert star is bot.plugins.ours

    assert response.status == 200
    assert saved["values"]["dashboard"]["port"] == other
    assert await status(other) is None


async def test_a_port_in_use_is_told_and_the_plugin_works(bot: Bot, model: Script) -> None:
    model.main(say("hello"))
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        async with served(bot, port):
            await bot.say("hello")

    (line,) = bot.errors
    bot.errors.clear()
    assert f"port {port} of 127.0.0.1 is in use by another program" in line
    assert "create_subagent" in model.requests_of("main")[0].tool_names()


async def test_without_a_token_it_is_not_served_to_the_network(bot: Bot) -> None:
    port = free_port()
    async with served(bot, port, host="0.0.0.0", token=""):
        assert await status(port) is None

    (line,) = bot.errors
    bot.errors.clear()
    assert "it needs a token. Set `dashboard.token`" in line


@asynccontextmanager
async def served(bot: Bot, port: int, **changes: Any) -> AsyncIterator[None]:
    """Have the bot's plugin serve the dashboard."""
    dashboard = {"enabled": True, "port": port, "token": TOKEN, **changes}
    await bot.plugins.reload(config={"dashboard": dashboard})
    try:
        yield
    finally:
        await bot.plugins.reload(config={})


@asynccontextmanager
async def signed_in(port: int) -> AsyncIterator[aiohttp.ClientSession]:
    """Somebody who knows the token."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", cookie_jar=jar) as client:
        async with client.post("/api/login", json={"token": TOKEN}) as response:
            assert response.status == 200
        yield client


async def status(port: int) -> int | None:
    """What the page answers; None when nobody listens."""
    async with aiohttp.ClientSession() as client, asyncio.timeout(LONG):
        try:
            async with client.get(f"http://127.0.0.1:{port}/api/account") as response:
                return response.status
        except aiohttp.ClientConnectorError:
            return None
