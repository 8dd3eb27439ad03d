"""Who may talk to the server: names under which it is asked, and pages from which it is asked.

A page of another site cannot use what a browser has signed in to, and a foreign name that somebody
lets point at this machine (DNS rebinding) gets nothing. Whoever is no browser sends none of the
headers that are looked at here; the cookie is what such a program needs.
"""

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

_ANY = ("0.0.0.0", "::")
_LOCALHOST = "localhost"


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach a server at this host."""
    if host.lower() == _LOCALHOST:
        return True
    address = _address(host)
    return address is not None and address.is_loopback


class Names:
    """The names under which one server may be asked."""

    def __init__(self, host: str) -> None:
        """Set it up.

        Args:
            host: Where the server listens: a name or an address.
        """
        self._bound = _plain(host)
        self._is_everywhere = self._bound in _ANY

    def has(self, host: str) -> bool:
        """Whether the header `Host` of a request names this server.

        Args:
            host: With or without a port.
        """
        name = _name_of(host)
        if name is None:
            return False
        if is_loopback(name) or name == self._bound:
            return True
        # No name can be made to point here by somebody else when it is no name but an address.
        return self._is_everywhere and (_address(name) is not None or name == _own_name())


def is_of_this_site(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a page of this server, as far as its browser says.

    Args:
        headers: Those of the request, with names in any case.

    A proxy tells by `X-Forwarded-Host` under which name people ask. Pages of other sites cannot set
    that header: a browser would ask first, and nobody answers.
    """
    if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return False
    origin = headers.get("Origin")
    if origin is None:
        return True
    hosts = {headers.get("Host", "").lower(), headers.get("X-Forwarded-Host", "").lower()} - {""}
    try:
        asked = urlsplit(origin)
    except ValueError:
        return False
    return asked.scheme in ("http", "https") and asked.netloc.lower() in hosts


def is_over_tls(headers: Mapping[str, str]) -> bool:
    """Whether the browser reaches the server over https, by a proxy in between."""
    return headers.get("Origin", "").lower().startswith("https://")


def _name_of(host: str) -> str | None:
    """The name in a header `Host`; None when it is none."""
    try:
        parts = urlsplit(f"//{host}")
        # Reading the port checks it.
        has_more = parts.path or parts.query or parts.fragment or parts.username is not None
        name = parts.hostname if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None
    return None if has_more or not name else _plain(name)


def _plain(host: str) -> str:
    address = _address(host)
    return host.lower().removesuffix(".") if address is None else address.compressed


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _own_name() -> str:
    return socket.gethostname().lower()
