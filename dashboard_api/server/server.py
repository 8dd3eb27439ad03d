"""The dashboard by itself: page, login and API on one address, behind `Door`.

Not a public web server: it is meant for the bot's owner, at this machine, in a trusted network, or
behind a proxy that adds https.
"""

import asyncio
import errno
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from ...manager.host import Clock
from ..errors import ApiProblem
from .addresses import Names
from .door import API, Door, body_of
from .files import PageFiles
from .login import LoginLimiter, SignIns
from .port import Served
from .replies import guard, problem, reply

_BODY_AT_MOST = 1024 * 1024
_LAST_WORDS_SECONDS = 0.2
_FINISH_SECONDS = 3.0
"""How long requests that are under way may take when the server stops."""


class CannotListen(Exception):
    """The server cannot be at this address; the text says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server is, and who may use it."""

    host: str
    port: int
    """0 is any free one."""
    token: str = field(repr=False)
    """Not empty."""


class DashboardServer:
    """One server at one address, from `start` to `stop`."""

    def __init__(self, api: Served, place: Place, *, pages: Path, clock: Clock) -> None:
        """Set it up.

        Args:
            api: What it serves; it is closed by its owner.
            place: Where.
            pages: The folder of the page's files.
            clock: For the login.
        """
        self._api = api
        self._place = place
        self._files = PageFiles(pages)
        # Cookies do not know ports: two bots of one machine need two names.
        cookie = f"subagents_{place.port}"
        self._door = Door(
            Names(place.host), SignIns(place.token, clock), LoginLimiter(clock), cookie
        )
        self._streams: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None
        self.port = place.port
        """The port it listens at."""

    async def start(self) -> None:
        """Listen.

        Raises:
            CannotListen: The address is in use, or not this machine's.
        """
        # No log of requests: their paths and queries tell of chats.
        runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=_FINISH_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._place.host, self._place.port).start()
        except (OSError, UnicodeError) as error:
            await runner.cleanup()
            raise CannotListen(_why_not(self._place, error)) from error
        except BaseException:
            await runner.cleanup()
            raise
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Listen no more, and end all that is under way."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._door.check], client_max_size=_BODY_AT_MOST)
        app.add_routes(self._door.routes())
        app.router.add_get(f"{API}events", self._events, allow_head=False)
        app.router.add_route("*", f"{API}{{path:.*}}", self._answer)
        app.router.add_get("/{path:.*}", self._file)
        app.on_response_prepare.append(guard)
        app.on_shutdown.append(self._end_streams)
        return app

    async def _answer(self, request: web.Request) -> web.Response:
        answer = await self._api.answer(
            request.method,
            f"/{request.match_info['path']}",
            dict(request.query.items()),
            await body_of(request),
            request.content_type if "Content-Type" in request.headers else None,
        )
        return reply(answer.body, status=answer.status)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        found = self._files.find(request.path)
        if found is None:
            return problem("not_found", "There is no such file.", status=404)
        file, content_type = found
        # Asked anew each time, so that an update of the plugin shows at once.
        return web.FileResponse(
            file, headers={"Content-Type": content_type, "Cache-Control": "no-cache"}
        )

    async def _events(self, request: web.Request) -> web.StreamResponse:
        try:
            chunks = self._api.stream(
                dict(request.query.items()), request.headers.get("Last-Event-ID")
            )
            first = await anext(chunks)
        except ApiProblem as problem_before:
            refused = problem_before.answer()
            return reply(refused.body, status=refused.status)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
        )
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            async with aclosing(chunks):
                await response.prepare(request)
                await response.write(first.encode())
                async for chunk in chunks:
                    if not self._door.stays_in(request):
                        break
                    await response.write(chunk.encode())
        except ConnectionError:
            # the page was closed
            pass
        finally:
            self._streams.discard(task)
        return response

    async def _end_streams(self, _app: web.Application) -> None:
        if not (streams := tuple(self._streams)):
            return
        # an API that was closed has last words for its readers
        _, open_ones = await asyncio.wait(streams, timeout=_LAST_WORDS_SECONDS)
        for task in open_ones:
            task.cancel()
        if open_ones:
            await asyncio.wait(open_ones, timeout=_FINISH_SECONDS)


def _why_not(place: Place, error: OSError | UnicodeError) -> str:
    where = f"{place.host}, port {place.port}"
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return (
            f"port {place.port} of {place.host} is in use by another program. Stop that one, or "
            "set `dashboard.port` to another."
        )
    reason = getattr(error, "strerror", None) or str(error)
    return f"it cannot listen at {where}: {reason}. Correct `dashboard.host` or `dashboard.port`."
