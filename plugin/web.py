"""The dashboard's API behind AstrBot's own login: routes of AstrBot's WebUI.

AstrBot never takes a plugin's routes back: they stand on a class and outlive the plugin. So they
are removed by hand, and what is left of them in a request under way finds nothing to answer with.

The page's way here is AstrBot's bridge, which tells a page nothing of a failed call but the text
`message`: so an error is there once more, as JSON in a text.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from astrbot.api.star import Context
from astrbot.api.web import request, stream_response

from ..dashboard_api.errors import ApiProblem
from ..dashboard_api.server.port import Served

_METHODS = ("GET", "POST")
_EVENTS = "events"
_BODY_AT_MOST = 1024 * 1024
_NOT_KEPT = "no-store"


class WebRoutes:
    """Our routes, from `open` to `close`."""

    def __init__(self, context: Context, api: Served, *, plugin: str) -> None:
        """Set it up.

        Args:
            context: AstrBot's side.
            api: What answers.
            plugin: The plugin's name, under which AstrBot looks for routes.
        """
        self._context = context
        self._api: Served | None = api
        self._plugin = plugin
        # one object, so that it is found again
        self._handler = self._handle

    def open(self) -> None:
        """Put them up."""
        # one for all paths: the API itself knows which there are
        path = f"/{self._plugin}/<path:path>"
        self._context.register_web_api(path, self._handler, list(_METHODS), "Sub-agents dashboard")

    def close(self) -> None:
        """Take them back; what is asked from now on is told that the plugin is gone."""
        self._api = None
        routes = self._context.registered_web_apis
        routes[:] = [route for route in routes if route[1] is not self._handler]

    async def _handle(self, path: str) -> Any:
        if (api := self._api) is None:
            return _problem("gone", "The plugin was stopped or is being reloaded.", status=503)
        query = dict(request.query.items())
        if request.method == "GET" and path == _EVENTS:
            return await self._stream(api, query)
        size = request.headers.get("content-length", "0")
        if size.isdecimal() and int(size) > _BODY_AT_MOST:
            return _problem("too_large", "A request may have 1 MiB at most.", status=413)
        body, kind = await request.body(), _kind(request.content_type)
        answer = await api.answer(request.method, f"/{path}", query, body, kind)
        return _reply(answer.body, status=answer.status)

    async def _stream(self, api: Served, query: Mapping[str, str]) -> Any:
        try:
            chunks = api.stream(query, request.headers.get("last-event-id"))
            first = await anext(chunks)
        except ApiProblem as problem:
            refused = problem.answer()
            return _reply(refused.body, status=refused.status)
        return stream_response(
            _with_first(first, chunks),
            headers={"Cache-Control": _NOT_KEPT, "X-Accel-Buffering": "no"},
        )


async def _with_first(first: str, chunks: AsyncGenerator[str]) -> AsyncIterator[str]:
    async with aclosing(chunks):
        yield first
        async for chunk in chunks:
            yield chunk


def _kind(content_type: str | None) -> str | None:
    """The content type alone, without its parameters."""
    return content_type and content_type.partition(";")[0].strip().lower()


def _problem(code: str, message: str, *, status: int) -> Any:
    return _reply({"error": {"code": code, "message": message, "fields": {}}}, status=status)


def _reply(body: Mapping[str, Any], *, status: int) -> Any:
    if status >= 400:
        body = {**body, "message": json.dumps(body["error"])}
    # Written here and not by AstrBot, whose JSON cannot hold half a surrogate pair.
    return stream_response(
        _once(json.dumps(body, separators=(",", ":"))),
        content_type="application/json",
        status_code=status,
        headers={"Cache-Control": _NOT_KEPT},
    )


async def _once(text: str) -> AsyncIterator[str]:
    yield text
