"""Fetches an image from the public internet, with nothing that could be turned against the bot.

Every address is checked after its name was resolved, at every redirect anew. No proxy, no
cookies, no login, no unpacking: what comes is the file itself or it is refused. Refusals name no
address of the network and no part of a URL.
"""

from http import HTTPStatus

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from .image_addresses import AddressPolicy, CheckedResolver, is_public, not_public
from .image_content import MAX_BYTES, Refused, too_large

MOST_REDIRECTS = 5
TIME_LIMIT_SECONDS = 20.0

_WEB = "only http and https URLs are allowed"
_OTHER_URL = "give the URL of an image that anyone can fetch"
_HEADERS = (
    ("Accept", "image/*"),
    # Packed bytes could grow far beyond the limit when they are unpacked.
    ("Accept-Encoding", "identity"),
    ("User-Agent", "astrbot_plugin_subagents"),
)
_REDIRECTS = frozenset(
    {
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    }
)


async def fetch_image(
    url: str, *, allows: AddressPolicy = is_public, resolver: AbstractResolver | None = None
) -> bytes:
    """Fetch one image; whether it is one is not looked at.

    Args:
        url: An http or https URL.
        allows: The addresses that may be connected to.
        resolver: Looks up names; None is the system's way.

    Raises:
        Refused: It leads to a forbidden address, is too large, or cannot be fetched.
    """
    checked = CheckedResolver(allows, resolver or aiohttp.ThreadedResolver())
    try:
        async with _session(checked) as session:
            return await _follow(session, URL(url), allows)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # Its own text may hold the whole URL, so it goes no further.
        raise Refused(f"cannot be fetched ({_reason(error)})", allowed=_OTHER_URL) from None


def _session(resolver: AbstractResolver) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=_HEADERS,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=TIME_LIMIT_SECONDS),
        # A proxy would resolve names itself, out of reach of the check.
        trust_env=False,
    )


async def _follow(session: aiohttp.ClientSession, url: URL, allows: AddressPolicy) -> bytes:
    for _ in range(MOST_REDIRECTS + 1):
        _check(url, allows)
        async with session.get(url, allow_redirects=False) as response:
            location = response.headers.get("Location")
            if location is None or response.status not in _REDIRECTS:
                return await _read(response)
            url = url.join(URL(location))
    raise Refused("redirects too often", allowed=f"at most {MOST_REDIRECTS} redirects are allowed")


def _check(url: URL, allows: AddressPolicy) -> None:
    if url.scheme not in {"http", "https"}:
        raise Refused("leads to something else than a web address", allowed=_WEB)
    if url.user is not None or url.password is not None:
        raise Refused("holds a user name or a password", allowed=_OTHER_URL)
    if not url.raw_host:
        raise Refused("names no host", allowed=_WEB)
    # aiohttp asks no resolver about a host that is an address, or that it takes for one.
    if _is_address(url.raw_host) and not allows(url.raw_host):
        raise not_public()


def _is_address(host: str) -> bool:
    last = host.rstrip(".").rpartition(".")[2].lower()
    # Also the old forms such as 2130706433, 127.1 and 0x7f.1, which systems understand.
    return ":" in host or last.isdigit() or last.startswith("0x")


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if response.status != HTTPStatus.OK:
        raise Refused(
            f"cannot be fetched (the server answered {response.status})", allowed=_OTHER_URL
        )
    if (response.content_length or 0) > MAX_BYTES:
        raise too_large()
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_BYTES:
            raise too_large()
    return bytes(content)


def _reason(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "it took too long"
        case aiohttp.ClientConnectorDNSError():
            return "there is no such host"
        case aiohttp.ClientSSLError():
            return "its certificate is not valid"
        case aiohttp.ClientConnectorError():
            return "the host does not answer"
        case aiohttp.InvalidURL() | ValueError():
            return "it is no valid URL"
    return "the server broke off"
