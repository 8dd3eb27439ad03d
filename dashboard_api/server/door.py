"""Who gets in: the checks before every request, and the login's own routes.

Not the API: what stands behind the door is `site.py`.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from .addresses import Names, is_of_this_site, is_over_tls
from .login import LoginLimiter, SignIns
from .replies import problem, reply

logger = logging.getLogger(__name__)

API = "/api/"
_OPEN = frozenset({"/api/account", "/api/login"})
"""What somebody needs who has not signed in."""
_JSON = "application/json"
_BODY_SECONDS = 30.0
"""A body that takes longer would keep its connection for as long as somebody likes."""

type _Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Door:
    """Lets requests in, or answers them itself."""

    def __init__(self, names: Names, sign_ins: SignIns, limiter: LoginLimiter, cookie: str) -> None:
        self._names = names
        self._sign_ins = sign_ins
        self._limiter = limiter
        self._cookie = cookie

    def routes(self) -> list[web.AbstractRouteDef]:
        """The login's own routes."""
        return [
            web.get("/api/account", self._account),
            web.post("/api/login", self._login),
            web.post("/api/logout", self._logout),
        ]

    @web.middleware
    async def check(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Look at a request before anything else does; say every refusal in the API's form."""
        try:
            return self._refused(request) or await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return problem("too_large", "A request may have 1 MiB at most.", status=413)
        except web.HTTPException as error:
            return _said(error)
        except (ConnectionError, web.RequestPayloadError):
            return problem("broken_off", "The request broke off.", status=400)
        except Exception:
            # The web's edge: whatever goes wrong inside is told to the log, not to a stranger.
            logger.exception("Answering %s %s failed", request.method, request.path)
            return problem("internal", "It did not work; the log tells why.", status=500)

    def is_in(self, request: web.Request) -> bool:
        """Whether the request's browser has signed in."""
        return self._sign_ins.is_signed_in(request.cookies.get(self._cookie, ""))

    def stays_in(self, request: web.Request) -> bool:
        """What `is_in` says, of what goes on by itself, which keeps nobody signed in."""
        return self._sign_ins.is_open(request.cookies.get(self._cookie, ""))

    def _refused(self, request: web.Request) -> web.Response | None:
        if not self._names.has(request.headers.get("Host", "")):
            return problem("foreign_name", "This server has another name.", status=403)
        if not request.path.startswith(API):
            return None
        # A read that changes nothing may come from anywhere: a browser shows its answer to nobody.
        guarded = request.method != "GET" or request.path == f"{API}events"
        if guarded and not is_of_this_site(request.headers):
            return problem("foreign_page", "This was asked by a page of another site.", status=403)
        if request.path not in _OPEN and not self.is_in(request):
            return problem("not_signed_in", "Sign in first.", status=401)
        return None

    async def _account(self, request: web.Request) -> web.Response:
        return reply({"signed_in": self.is_in(request)})

    async def _login(self, request: web.Request) -> web.Response:
        if request.content_type != _JSON:
            return problem("not_json", f"The body is to be {_JSON}.", status=415)
        token = _token(await body_of(request))
        if token is None:
            return problem("invalid_argument", 'The body is to be {"token": "..."}.', status=400)
        address = request.remote or ""
        if seconds := self._limiter.wait_seconds(address):
            message = f"Too many wrong tokens: wait {seconds} seconds."
            wait = {"Retry-After": str(seconds)}
            return problem("too_many_failures", message, status=429, headers=wait)
        session = self._sign_ins.sign_in(token)
        if session is None:
            self._limiter.failed(address)
            logger.warning("A login with a wrong token from %s", address)
            return problem("wrong_token", "This is not the token.", status=401)
        signed_in = reply({"signed_in": True})
        signed_in.set_cookie(
            self._cookie,
            session,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=is_over_tls(request.headers),
        )
        return signed_in

    async def _logout(self, request: web.Request) -> web.Response:
        self._sign_ins.sign_out(request.cookies.get(self._cookie, ""))
        signed_out = reply({"signed_in": False})
        signed_out.del_cookie(self._cookie, path="/", httponly=True, samesite="Strict")
        return signed_out


async def body_of(request: web.Request) -> bytes:
    """The whole body of a request.

    Raises:
        HTTPRequestTimeout: It comes too slowly.
        HTTPRequestEntityTooLarge: It is too long.
    """
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout from None


def _token(body: bytes) -> str | None:
    """The token in the body of a login; None when the body is another one."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(sent, dict) or sent.keys() != {"token"}:
        return None
    token = sent["token"]
    # the setting is read without spaces at its ends as well
    return token.strip() if isinstance(token, str) else None


def _said(error: web.HTTPException) -> web.Response:
    """What aiohttp refuses by itself, in the API's form."""
    code = {404: "not_found", 405: "method_not_allowed", 408: "too_slow"}.get(
        error.status, "invalid_argument"
    )
    headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else None
    return problem(code, f"{error.reason}.", status=error.status, headers=headers)
