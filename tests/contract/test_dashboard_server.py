"""The dashboard's own server on a real socket: who gets in, what they get, and how it ends."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from astrbot_plugin_subagents.dashboard_api.errors import ApiProblem
from astrbot_plugin_subagents.dashboard_api.server import (
    CannotListen,
    DashboardServer,
    Place,
)
from astrbot_plugin_subagents.manager.testing import FakeClock
from support.dashboard_site import LONG, TOKEN, EchoApi, Site, site

FOREIGN = {"Origin": "http://evil.example.org"}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<h1>the page</h1>")
    (tmp_path / "main.js").write_text("export {}")
    return tmp_path


@pytest.fixture
async def door(pages: Path) -> AsyncIterator[Site]:
    async with site(pages) as opened:
        yield opened


async def test_the_page_is_there_for_who_has_not_signed_in(door: Site) -> None:
    async with door.visitor(signed_in=False) as client, client.get("/") as response:
        assert response.status == 200
        assert await response.text() == "<h1>the page</h1>"
        headers = response.headers

    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cache-Control"] == "no-cache"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'; "
    )
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Server" not in headers


async def test_a_file_is_sent_again_only_when_it_has_changed(door: Site, pages: Path) -> None:
    async with door.visitor(signed_in=False) as client:
        async with client.get("/main.js") as first:
            tag = {"If-None-Match": first.headers["ETag"]}
        async with client.get("/main.js", headers=tag) as same:
            pass
        (pages / "main.js").write_text("export const changed = true")
        async with client.get("/main.js", headers=tag) as other:
            text = await other.text()

    assert (first.status, same.status, other.status) == (200, 304, 200)
    assert text == "export const changed = true"


@pytest.mark.parametrize(
    "path", ["/nothing.js", "/%2e%2e/secret.js", "/..%2fsecret.js", "/.env", "/main.js%00"]
)
async def test_what_is_no_file_of_the_page_is_not_found(door: Site, path: str) -> None:
    status, body = await _raw(door, f"GET {path} HTTP/1.1")

    assert status == 404
    assert json.loads(body)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/overview"),
        ("GET", "/api/openapi"),
        ("GET", "/api/events"),
        ("GET", "/api/no_such_thing"),
        ("GET", "/api/"),
        ("DELETE", "/api/overview"),
        ("POST", "/api/settings/save"),
        ("POST", "/api/logout"),
    ],
)
async def test_who_has_not_signed_in_gets_nothing_of_the_api(
    door: Site, method: str, path: str
) -> None:
    async with (
        door.visitor(signed_in=False) as client,
        client.request(method, path, json={}) as response,
    ):
        body = await response.json()

    assert response.status == 401
    assert body == {"error": {"code": "not_signed_in", "message": "Sign in first.", "fields": {}}}
    assert door.api.asked == []


async def test_the_token_signs_in_by_a_cookie_that_no_script_and_no_other_site_sees(
    door: Site,
) -> None:
    async with door.visitor(signed_in=False) as client:
        before = await _get(client, "/api/account")
        async with client.post("/api/login", json={"token": TOKEN}) as response:
            signed_in = await response.json()
        after = await _get(client, "/api/account")
        answer = await _get(client, "/api/overview?a=1&b=%20")

    cookie = response.headers["Set-Cookie"]
    assert (before, signed_in, after) == tuple({"signed_in": each} for each in (False, True, True))
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert response.headers["Cache-Control"] == "no-store"
    assert answer["asked"] == "GET /overview"
    assert answer["query"] == {"a": "1", "b": " "}


async def test_behind_https_the_cookie_stays_there(door: Site) -> None:
    headers = {"Origin": "https://bot.example.org", "X-Forwarded-Host": "bot.example.org"}

    async with (
        door.visitor(signed_in=False) as client,
        client.post("/api/login", json={"token": TOKEN}, headers=headers) as response,
    ):
        assert response.status == 200

    assert "Secure" in response.headers["Set-Cookie"]


async def test_who_signs_out_is_out(door: Site) -> None:
    async with door.visitor() as client, door.visitor() as other:
        kept = {each.key: each.value for each in client.cookie_jar}
        async with client.post("/api/logout", json={}) as response:
            assert await response.json() == {"signed_in": False}
        gone = {each.key for each in client.cookie_jar}
        async with client.get("/api/overview", cookies=kept) as response:
            assert response.status == 401
        assert (await _get(other, "/api/overview"))["asked"] == "GET /overview"

    assert len(kept) == 1
    assert gone == set()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"token": "wrong"}', 401, "wrong_token"),
        (b'{"token": "\\ud800"}', 401, "wrong_token"),
        (b'{"token": ""}', 401, "wrong_token"),
        (b'{"token": 1}', 400, "invalid_argument"),
        (b'{"token": "x", "more": 1}', 400, "invalid_argument"),
        (b"{}", 400, "invalid_argument"),
        (b"[]", 400, "invalid_argument"),
        (b"", 400, "invalid_argument"),
        (b"\xff", 400, "invalid_argument"),
        (b"[" * 200_000, 400, "invalid_argument"),
        (b" " * (1024 * 1024 + 1), 413, "too_large"),
    ],
    ids=lambda value: repr(value)[:24],
)
async def test_what_is_not_the_token_signs_nobody_in(
    door: Site, body: bytes, status: int, code: str
) -> None:
    async with door.visitor(signed_in=False) as client:
        headers = {"Content-Type": "application/json"}
        async with client.post("/api/login", data=BytesIO(body), headers=headers) as response:
            answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (status, code)
    assert "Set-Cookie" not in response.headers


async def test_spaces_around_the_token_do_not_count(door: Site) -> None:
    body = {"token": f" {TOKEN}\n"}
    async with (
        door.visitor(signed_in=False) as client,
        client.post("/api/login", json=body) as response,
    ):
        assert response.status == 200


async def test_a_form_of_another_site_cannot_sign_in(door: Site) -> None:
    async with (
        door.visitor(signed_in=False) as client,
        client.post("/api/login", data={"token": TOKEN}) as response,
    ):
        assert response.status == 415


async def test_too_many_wrong_tokens_make_even_the_right_one_wait(door: Site) -> None:
    async with door.visitor() as earlier, door.visitor(signed_in=False) as client:
        for _ in range(5):
            async with client.post("/api/login", json={"token": "wrong"}) as response:
                assert response.status == 401
        async with client.post("/api/login", json={"token": TOKEN}) as response:
            refused = (response.status, response.headers["Retry-After"])
        still = await _get(earlier, "/api/account")
        door.clock.advance(60)
        async with client.post("/api/login", json={"token": TOKEN}) as response:
            later = response.status

    assert refused == (429, "60")
    assert still == {"signed_in": True}
    assert later == 200


async def test_no_token_and_no_query_is_logged(
    door: Site, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with door.visitor() as client:
            async with client.post("/api/login", json={"token": "a wrong token"}):
                pass
            await _get(client, "/api/account?session=of-the-chat")

    told = "\n".join(caplog.messages)
    assert "A login with a wrong token from 127.0.0.1" in told
    assert "a wrong token" not in told.replace("A login with a wrong token", "")
    assert TOKEN not in told
    assert "of-the-chat" not in told


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/login"),
        ("POST", "/api/logout"),
        ("POST", "/api/runs/x"),
        ("GET", "/api/events"),
    ],
)
async def test_a_page_of_another_site_is_refused(door: Site, method: str, path: str) -> None:
    body = {"token": TOKEN} if method == "POST" else None
    async with (
        door.visitor() as client,
        client.request(method, path, json=body, headers=FOREIGN) as response,
    ):
        answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (403, "foreign_page")
    assert "Access-Control-Allow-Origin" not in response.headers
    assert door.api.asked == []


@pytest.mark.parametrize("path", ["/", "/api/account", "/api/overview"])
async def test_a_foreign_name_that_points_here_gets_nothing(door: Site, path: str) -> None:
    async with (
        door.visitor() as client,
        client.get(path, headers={"Host": "evil.example.org"}) as response,
    ):
        answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (403, "foreign_name")
    assert door.api.asked == []


async def test_a_post_reaches_the_api_with_its_body(door: Site) -> None:
    door.api.status = 409
    async with (
        door.visitor() as client,
        client.post("/api/runs/cancel?x=1", json={"run_id": "r"}) as response,
    ):
        answer = await response.json()

    assert response.status == 409
    assert answer == {
        "asked": "POST /runs/cancel",
        "query": {"x": "1"},
        "body": '{"run_id": "r"}',
        "type": "application/json",
    }


async def test_a_body_of_more_than_a_mebibyte_is_refused(door: Site) -> None:
    async with door.visitor() as client:
        body = BytesIO(b"x" * (1024 * 1024 + 1))
        async with client.post("/api/runs/steer", data=body) as response:
            answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (413, "too_large")
    assert door.api.asked == []


async def test_what_goes_wrong_inside_is_told_to_the_log_alone(
    door: Site, caplog: pytest.LogCaptureFixture
) -> None:
    door.api.error = RuntimeError("the inside of the bot")
    async with door.visitor() as client, client.get("/api/overview") as response:
        text = await response.text()

    assert response.status == 500
    assert json.loads(text)["error"]["code"] == "internal"
    assert "inside of the bot" not in text
    assert "Answering GET /api/overview failed" in caplog.messages


async def test_events_come_as_they_happen(door: Site) -> None:
    headers = {"Last-Event-ID": "7"}
    async with (
        door.visitor() as client,
        asyncio.timeout(LONG),
        client.get("/api/events?session=s", headers=headers) as response,
    ):
        first = await _chunk(response)
        door.api.chunks.put_nowait("data: second\n\n")
        second = await _chunk(response)

    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-store"
    assert first == "data: {'session': 's'} 7"
    assert second == "data: second"


async def test_a_stream_that_cannot_be_opened_is_refused_like_anything_else(door: Site) -> None:
    door.api.refused = ApiProblem("off", "Not now.", status=503)
    async with door.visitor() as client, client.get("/api/events") as response:
        answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (503, "off")


async def test_who_signs_out_hears_nothing_more(door: Site) -> None:
    async with (
        door.visitor() as client,
        asyncio.timeout(LONG),
        client.get("/api/events") as response,
    ):
        await _chunk(response)
        async with client.post("/api/logout", json={}):
            pass
        door.api.chunks.put_nowait("data: not for you\n\n")
        rest = await response.content.read()

    assert rest == b""
    assert door.api.streams == 0


async def test_a_server_that_stops_ends_its_streams_at_once(pages: Path) -> None:
    async with site(pages) as opened, opened.visitor() as client, asyncio.timeout(LONG):
        response = await client.get("/api/events")
        await _chunk(response)
        await opened.server.stop()
        with pytest.raises(aiohttp.ClientError):
            await response.content.read()
        response.close()

    assert opened.api.streams == 0


async def test_two_servers_cannot_share_a_port(door: Site, pages: Path) -> None:
    place = Place(host="127.0.0.1", port=door.server.port, token=TOKEN)
    second = DashboardServer(EchoApi(), place, pages=pages, clock=FakeClock())

    with pytest.raises(CannotListen, match=f"port {door.server.port} of .* is in use"):
        await second.start()
    await second.stop()


@pytest.mark.parametrize("host", ["192.0.2.1", f"{'x' * 64}.org"])
async def test_a_server_cannot_be_where_this_machine_is_not(pages: Path, host: str) -> None:
    place = Place(host=host, port=0, token=TOKEN)
    server = DashboardServer(EchoApi(), place, pages=pages, clock=FakeClock())

    with pytest.raises(CannotListen, match=r"Correct `dashboard\.host`"):
        await server.start()


async def _get(client: aiohttp.ClientSession, path: str) -> Any:
    async with client.get(path) as response:
        return await response.json()


async def _chunk(response: aiohttp.ClientResponse) -> str:
    return (await response.content.readuntil(b"\n\n")).decode().strip()


async def _raw(door: Site, line: str) -> tuple[int, bytes]:
    """Ask without a client that tidies paths up; return the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    writer.write(f"{line}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body
