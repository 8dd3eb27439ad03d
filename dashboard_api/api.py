"""The API: from a request, as any web server hands it over, to an answer. An error is one too."""

import json
import logging
import math
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from ..manager.errors import SubAgentError
from .answers import Answer
from .asks import EventsAsks
from .dashboard import Dashboard
from .errors import ApiProblem, invalid_request, problem_of
from .openapi import make_openapi
from .ports import InvalidSettings, SettingsChanged, SettingsNotSaved
from .routes import EVENTS, ROUTES, Route
from .stream import EventStreams

logger = logging.getLogger(__name__)

BODY_AT_MOST = 1024 * 1024
_KEYS_AT_MOST = 100
"""Of a body; those that a route does not know are told one by one."""


class Api:
    """Answers all requests until it is closed."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        self._routes: Mapping[tuple[str, str], Route] = {
            (route.method, route.path): route for route in ROUTES
        }
        self._methods: dict[str, str] = {route.path: route.method for route in ROUTES}
        self._openapi: Mapping[str, Any] | None = None
        """Made when it is first asked for."""
        self._streams = EventStreams(dashboard.services, dashboard.sessions.events)
        self._is_closed = False

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str | None,
    ) -> Answer:
        """Answer one request.

        Args:
            method: In capitals.
            path: With its leading slash, below whatever the API is mounted at.
            query: Decoded.
            body: As it came; None when there is none.
            content_type: Of the body; None when it was not said.

        Returns:
            What `path` replies, or why not; every body is a JSON object.
        """
        try:
            self._check_open()
            route = self._route(method, path)
            return Answer(status=200, body=await self._reply(route, query, body, content_type))
        except ApiProblem as problem:
            return problem.answer()
        except ValidationError as error:
            return invalid_request(error).answer()
        except (SubAgentError, InvalidSettings, SettingsChanged, SettingsNotSaved) as error:
            return problem_of(error).answer()
        except Exception:
            logger.exception("The dashboard could not answer %s %s", method, path)
            text = "It did not work; the bot's log tells why."
            return ApiProblem("internal", text, status=500).answer()

    def stream(self, query: Mapping[str, str], last_event_id: str | None) -> AsyncGenerator[str]:
        """Open the stream of events, as `text/event-stream`.

        The first chunk comes at once; what happens after it was made is in the stream.

        Args:
            query: Decoded.
            last_event_id: The header of that name; it goes before `after` of the query.

        Raises:
            ApiProblem: The request is refused; raised by the call itself.
        """
        self._check_open()
        if last_event_id:
            query = {**query, "after": last_event_id}
        try:
            asked = EventsAsks.model_validate(dict(query))
        except ValidationError as error:
            raise invalid_request(error) from error
        return self._streams.open(asked)

    async def close(self) -> None:
        """End the streams, telling their readers; from now on nothing is answered."""
        self._is_closed = True
        self._streams.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ApiProblem("gone", "The plugin was stopped or is being reloaded.", status=503)

    def _route(self, method: str, path: str) -> Route:
        if (route := self._routes.get((method, path))) is not None:
            return route
        if (allowed := self._methods.get(path)) is not None:
            text = f"{path} takes {allowed} alone."
            raise ApiProblem("method_not_allowed", text, status=405)
        raise ApiProblem("not_found", "There is no such path.", status=404)

    async def _reply(
        self,
        route: Route,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str | None,
    ) -> Mapping[str, Any]:
        if route.path == EVENTS:
            raise ApiProblem("not_a_stream", "Events are a stream.", status=406)
        asked = _asked(route, query, body, content_type)
        if route.handle is None:
            if self._openapi is None:
                self._openapi = make_openapi(ROUTES, version=self._dashboard.version)
            return self._openapi
        reply: BaseModel = await route.handle(self._dashboard, asked)
        dumped: dict[str, Any] = reply.model_dump(mode="json", by_alias=True)
        return dumped


def _asked(
    route: Route, query: Mapping[str, str], body: bytes | None, content_type: str | None
) -> BaseModel:
    """What a request asks for, checked.

    Raises:
        ApiProblem: It is not JSON, or too long.
        ValidationError: Its keys or values are not those of its route.
    """
    if route.method == "GET":
        return route.asks.model_validate(dict(query))
    if query:
        fields = dict.fromkeys(query, "There is no such key in the query.")
        raise ApiProblem("invalid_argument", "POST takes no query.", status=400, fields=fields)
    if (content_type or "").split(";")[0].strip().lower() != "application/json":
        text = "The body must be application/json."
        raise ApiProblem("unsupported_media_type", text, status=415)
    if len(body or b"") > BODY_AT_MOST:
        raise ApiProblem("too_large", "A request may have 1 MiB at most.", status=413)
    asked = _json(body or b"")
    if isinstance(asked, dict) and len(asked) > _KEYS_AT_MOST:
        text = f"The body has {len(asked)} keys, of which most mean nothing."
        raise ApiProblem("invalid_argument", text, status=400, fields={"body": text})
    return route.asks.model_validate(asked)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        text = "The body is not JSON that can be read."
        raise ApiProblem("invalid_argument", text, status=400, fields={"body": text}) from error


def _refused(constant: str) -> float:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(digits)
    return number
