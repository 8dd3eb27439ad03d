"""Images from the web: only from public addresses, however the name, the URL or the server lie."""

import gzip
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.plugin.image_addresses import CheckedResolver, is_public
from astrbot_plugin_subagents.plugin.image_content import MAX_BYTES, Refused
from astrbot_plugin_subagents.plugin.image_fetch import MOST_REDIRECTS, fetch_image

HERE = "127.0.0.1"
ELSEWHERE = "127.0.0.2"
PICTURE = b"\x89PNG\r\n\x1a\n" + b"a picture"


type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Names(AbstractResolver):
    """A resolver whose answers are set beforehand; the last one is repeated."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in answer
        ]

    async def close(self) -> None:
        pass


class Site:
    """A web server of this test: every page is a picture, but for those that are set."""

    def __init__(self) -> None:
        self.pages: dict[str, Handler] = {}
        self.requests: list[web.Request] = []
        app = web.Application()
        app.router.add_get("/{page:.*}", self._answer)
        self.server = TestServer(app, host=HERE)

    def url(self, path: str = "", host: str = HERE) -> str:
        return f"http://{host}:{self.server.port}/{path}"

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        async def answer(request: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": target})

        self.pages[path] = answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if page := self.pages.get(request.match_info["page"]):
            return await page(request)
        return web.Response(body=PICTURE, content_type="text/html")


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    async with site.server:
        yield site


fetch_here = partial(fetch_image, allows=HERE.__eq__)
"""This machine plays the public internet."""


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1",
        "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255",
        "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
        "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
        "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::8.8.8.8",
        "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::7f00:1",
        "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::1", "2001:10::1",
        "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1",
        "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1",
        "ff02::1", "", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1",
        "127.0.0.1.", " 8.8.8.8", "8.8.8.8/32",
    ],
)  # fmt: skip
def test_no_address_but_a_public_one_is_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "11.0.0.1", "93.184.216.34", "100.63.255.255", "100.128.0.1",
     "172.15.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700:4700::1111",
     "2001:4860:4860::8888", "2a00:1450:4001:81b::200e", "3ffe:ffff::1"],
)  # fmt: skip
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_what_python_knows_to_be_special_is_not_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    special = (
        not address.is_global
        or address.is_multicast
        or address.is_reserved
        or address.is_loopback
        or address.is_link_local
        or address.is_unspecified
    )

    assert not (special and is_public(str(address)))


async def test_a_name_with_one_address_that_is_not_public_is_refused() -> None:
    for answer in (["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1", "::ffff:7f00:1"]):
        with pytest.raises(Refused, match="public"):
            await CheckedResolver(is_public, Names(answer)).resolve("example.com", 80)

    found = await CheckedResolver(is_public, Names(["8.8.8.8", "1.1.1.1"])).resolve("a.b", 80)
    assert [each["host"] for each in found] == ["8.8.8.8", "1.1.1.1"]


async def test_a_name_that_turns_private_after_the_check_gains_nothing(site: Site) -> None:
    names = Names([HERE], [ELSEWHERE])

    assert await fetch_here(site.url("picture", "good.example"), resolver=names) == PICTURE
    assert names.asked == ["good.example"]


async def test_a_name_that_turns_private_before_a_redirect_is_refused(site: Site) -> None:
    names = Names([HERE], [ELSEWHERE])
    site.redirect("first", "/second")

    with pytest.raises(Refused, match="public"):
        await fetch_here(site.url("first", "bad.example"), resolver=names)
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    "host",
    [HERE, "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001",
     "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "localhost.",
     "0", "0.0.0.0", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021",
     "\u2460\u2461\u2466.0.0.1", "\u24dbocalhost", "[fe80::1%25lo]"],
)  # fmt: skip
async def test_no_way_to_write_this_machine_gets_there(site: Site, host: str) -> None:
    with pytest.raises(Refused):
        await fetch_image(site.url("picture", host))

    assert site.requests == []


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2:{port}/", "//127.0.0.2:{port}/", "http://2130706433:{port}/",
     "http://[::1]:{port}/", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd",
     "data:image/png;base64,iVBORw0KGgo=", "ftp://127.0.0.1/a", "http://u:p@127.0.0.1:{port}/",
     "http://[", "http://127.0.0.1:99999/", "http://a\\b/"],
)  # fmt: skip
async def test_a_redirect_is_checked_like_the_first_url(site: Site, target: str) -> None:
    site.redirect("first", target.format(port=site.server.port))

    with pytest.raises(Refused):
        await fetch_here(site.url("first"))
    assert len(site.requests) == 1


async def test_a_redirect_to_no_web_address_says_what_is_allowed(site: Site) -> None:
    site.redirect("first", f"ftp://{HERE}/a")

    with pytest.raises(Refused, match="only http and https"):
        await fetch_here(site.url("first"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_up_to_a_limit(site: Site, status: int) -> None:
    for number in range(MOST_REDIRECTS + 1):
        site.redirect(str(number), f"/{number + 1}?a=b#c", status)
    last = str(MOST_REDIRECTS + 1)

    assert await fetch_here(site.url("1")) == PICTURE
    assert [each.match_info["page"] for each in site.requests][-1] == last
    with pytest.raises(Refused, match="redirects too often"):
        await fetch_here(site.url("0"))
    assert [each.match_info["page"] for each in site.requests].count(last) == 1


@pytest.mark.parametrize(
    "url",
    ["http://user:pw@{0}/", "http://user@{0}/", "http://:pw@{0}/", "http:///{0}", "ftp://{0}/"],
)
async def test_a_url_with_a_login_or_without_a_web_host_is_refused(site: Site, url: str) -> None:
    with pytest.raises(Refused):
        await fetch_here(url.format(f"{HERE}:{site.server.port}"))

    assert site.requests == []


async def test_the_largest_image_is_fetched_and_one_byte_more_is_refused(site: Site) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=bytes(MAX_BYTES + int(request.query["more"])))

    site.pages["large"] = answer

    assert len(await fetch_here(site.url("large?more=0"))) == MAX_BYTES
    with pytest.raises(Refused, match="too large"):
        await fetch_here(site.url("large?more=1"))


async def test_reading_stops_at_the_limit(site: Site) -> None:
    sent = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(bytes(64 * 1024))
            sent += 64 * 1024

    site.pages["endless"] = answer

    with pytest.raises(Refused, match="too large"):
        await fetch_here(site.url("endless"))
    assert sent < 3 * MAX_BYTES


async def test_packed_bytes_are_not_unpacked(site: Site) -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(body=gzip.compress(PICTURE), headers={"Content-Encoding": "gzip"})

    site.pages["packed"] = answer

    assert gzip.decompress(await fetch_here(site.url("packed"))) == PICTURE


@pytest.mark.parametrize("status", [204, 206, 304, 403, 404, 500])
async def test_other_answers_are_refused(site: Site, status: int) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status)

    site.pages["page"] = answer

    with pytest.raises(Refused, match=f"answered {status}"):
        await fetch_here(site.url("page"))


async def test_no_proxy_is_asked_and_no_cookie_is_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/a", "Set-Cookie": "a=b"})

    site.pages["first"] = answer

    url = site.url("first", "good.example")
    assert await fetch_here(url, resolver=Names([HERE])) == PICTURE
    assert "Cookie" not in site.requests[-1].headers


async def test_a_refusal_holds_nothing_of_the_url(site: Site) -> None:
    async def drop(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    site.pages["drop"] = drop
    site.redirect("away", "http://10.0.0.1/secret?secret=secret")
    site.redirect("broken", "http://secret:secret/")

    for page in ("drop", "away", "broken"):
        with pytest.raises(Refused) as refusal:
            await fetch_here(site.url(f"{page}?secret=secret"))
        assert "secret" not in str(refusal.value)
        assert HERE not in str(refusal.value)
        assert "10.0.0.1" not in str(refusal.value)


async def test_an_unknown_host_and_a_silent_one_are_told_apart(site: Site) -> None:
    class NoNames(Names):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            raise OSError("no such name")

    with pytest.raises(Refused, match="no such host"):
        await fetch_here("http://nowhere.example/", resolver=NoNames([]))
    silent = site.url()
    await site.server.close()
    with pytest.raises(Refused, match="does not answer"):
        await fetch_here(silent)


async def test_a_host_without_a_valid_certificate_is_refused(site: Site) -> None:
    with pytest.raises(Refused):
        await fetch_here(site.url().replace("http:", "https:"))
