"""Which network addresses an image may be fetched from: those of the public internet only.

A model may be talked into naming an address of the bot's own network, where routers, clouds'
metadata services and dashboards answer whoever stands inside. The ranges are listed here and not
asked of `ipaddress.is_global`, whose answers differ between Python 3.12, 3.13 and 3.14.
"""

import ipaddress
import socket
from collections.abc import Callable

from aiohttp.abc import AbstractResolver, ResolveResult

from .image_content import Refused

type AddressPolicy = Callable[[str], bool]
"""Tells whether an address, as text, may be connected to."""

# The special-purpose registry of IANA, and what clouds answer on.
_NOT_PUBLIC_V4 = tuple(
    ipaddress.IPv4Network(each)
    for each in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a provider's customers
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's service for its machines
        "169.254.0.0/16",  # link-local, metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# All that is handed out for use in public. What lies outside needs no entry below: loopback,
# link-local, site-local, unique local, multicast, IPv4-mapped and -compatible, NAT64.
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(
    ipaddress.IPv6Network(each)
    for each in (
        "2001::/23",  # protocol assignments, among them Teredo, which holds an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which holds an IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Tell whether an address belongs to the public internet.

    Args:
        address: An IPv4 or IPv6 address in its usual text form; anything else is not public.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_V4)
    return (
        parsed.scope_id is None
        and parsed in _PUBLIC_V6
        and not any(parsed in network for network in _NOT_PUBLIC_V6)
    )


def not_public() -> Refused:
    """Make the refusal of a host; it does not tell which address was found."""
    return Refused(
        "is on a host without a public address",
        allowed="only hosts of the public internet are allowed",
    )


class CheckedResolver(AbstractResolver):
    """Resolves names and lets nothing through that the policy refuses.

    aiohttp connects to the very addresses that a resolver returns, so a name that resolves to
    something else a moment later gains nothing.
    """

    def __init__(self, allows: AddressPolicy, inner: AbstractResolver) -> None:
        self._allows = allows
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """See `AbstractResolver.resolve`.

        Raises:
            Refused: One of the addresses may not be connected to.
        """
        found = await self._inner.resolve(host, port, family)
        if not all(self._allows(each["host"]) for each in found):
            raise not_public()
        return found

    async def close(self) -> None:
        """See `AbstractResolver.close`."""
        await self._inner.close()
