"""What the server's replies have in common: headers that guard the page, and JSON bodies."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from aiohttp import web

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

_GUARDS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": _POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
)


async def guard(_request: web.Request, response: web.StreamResponse) -> None:
    """Put the guarding headers on any reply, just before it is sent."""
    response.headers.update(_GUARDS)
    # nothing of a chat stays in a browser's or a proxy's memory
    response.headers.setdefault("Cache-Control", "no-store")
    # which program this is concerns nobody
    response.headers.pop("Server", None)


def reply(
    body: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A reply with a JSON object."""
    return web.json_response(body, status=status, headers=headers, dumps=as_json)


def problem(
    code: str, message: str, *, status: int, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A reply with an error, in the form that all of the API has."""
    error = {"code": code, "message": message, "fields": {}}
    return reply({"error": error}, status=status, headers=headers)


def as_json(body: Mapping[str, Any]) -> str:
    """Write JSON in plain ASCII: half a surrogate pair, which texts may hold, has no UTF-8."""
    return json.dumps(body, separators=(",", ":"))
