"""The part of AstrBot's HTTP API that the demo uses; standard library only."""

import json
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit


class ApiError(Exception):
    """AstrBot cannot be reached, or refused; the text says why."""


class LoginRefused(ApiError):
    """User name or password is wrong."""


class TooManyLogins(ApiError):
    """AstrBot wants a second's rest between logins."""


class AstrBotApi:
    """One AstrBot, by its address.

    Args:
        url: Such as `http://127.0.0.1:6185`.
        timeout_seconds: How long to wait for a connection and between two parts of an answer.
    """

    def __init__(self, url: str, *, timeout_seconds: float = 10.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ApiError(f"{url!r} is no address such as http://127.0.0.1:6185")
        self._url = url.rstrip("/")
        self._parts = parts
        self._timeout = timeout_seconds
        self.token = ""
        """Of the login; may be set to that of an earlier one."""

    def login(self, user: str, password: str) -> None:
        """Log in; all later requests carry the token.

        Raises:
            LoginRefused: User or password is wrong.
            TooManyLogins: Try again a little later.
            ApiError: AstrBot cannot be reached or answers something else.
        """
        self.token = ""
        status, body = self._json("POST", "auth/login", {"username": user, "password": password})
        token = (body.get("data") or {}).get("token") if body.get("status") == "ok" else None
        if not token:
            text = body.get("message") or f"status {status}"
            if status == HTTPStatus.TOO_MANY_REQUESTS:
                raise TooManyLogins(f"AstrBot at {self._url} slows down logins: {text}")
            raise LoginRefused(f"AstrBot at {self._url} refused the login of {user!r}: {text}")
        self.token = str(token)

    def knows_me(self) -> bool:
        """Tell whether the token is still good.

        Raises:
            ApiError: AstrBot cannot be reached.
        """
        status, _ = self._json("GET", "chat/configs", None)
        return status == HTTPStatus.OK

    def plugins(self) -> dict[str, bool]:
        """Return the loaded plugins by name, and whether each is switched on."""
        return {
            str(each.get("name")): bool(each.get("activated")) for each in self._data("plugins")
        }

    def failed_plugins(self) -> dict[str, str]:
        """Return the plugins that could not be loaded, by folder, with the error."""
        found = self._data("plugins/failed")
        return {
            name: str(each.get("error", each)) if isinstance(each, dict) else str(each)
            for name, each in (found.items() if isinstance(found, dict) else ())
        }

    def providers(self) -> set[str]:
        """Return the ids of the models that are set up."""
        data = self._data("providers")
        entries = data.get("providers", []) if isinstance(data, dict) else data
        return {str(each.get("id")) for each in entries}

    def new_session(self) -> str:
        """Open a new chat and return its id."""
        return str(self._data("chat/sessions/new")["session_id"])

    def knows_session(self, session: str) -> bool:
        """Tell whether there is such a chat; AstrBot itself would silently open a new one."""
        listed = self._data("chat/sessions")
        if any(isinstance(each, dict) and each.get("session_id") == session for each in listed):
            return True
        # Only the newest chats are listed; of an unknown chat AstrBot shows an empty history.
        status, body = self._json("GET", f"chat/sessions/{quote(session, safe='')}", None)
        data = body.get("data")
        return status == HTTPStatus.OK and isinstance(data, dict) and bool(data.get("history"))

    def chat(self, session: str, text: str, *, timeout_seconds: float) -> Iterator[dict[str, Any]]:
        """Send one message and yield the events of the answer as they come.

        Raises:
            ApiError: AstrBot refused the message.
            TimeoutError: The answer was not whole in time.
            OSError, HTTPException: AstrBot went away.
        """
        deadline = time.monotonic() + timeout_seconds
        message = {"session_id": session, "message": [{"type": "plain", "text": text}]}
        connection, response = self._send("POST", "chat", message, timeout=timeout_seconds)
        try:
            if "text/event-stream" not in response.headers.get("Content-Type", ""):
                body = _object(response.read())
                raise ApiError(f"AstrBot refused the message: {body.get('message') or body}")
            yield from _events(response, deadline)
        finally:
            connection.close()

    def _data(self, path: str) -> Any:
        status, body = self._json("GET", path, None)
        if body.get("status") != "ok":
            raise ApiError(f"AstrBot answered {path} with {body.get('message') or status}")
        return body.get("data")

    def _json(self, method: str, path: str, payload: object) -> tuple[int, dict[str, Any]]:
        try:
            connection, response = self._send(method, path, payload)
        except TimeoutError as error:
            raise ApiError(f"AstrBot at {self._url} does not answer") from error
        try:
            return response.status, _object(response.read())
        except (OSError, HTTPException) as error:
            raise ApiError(f"AstrBot at {self._url} broke off: {error!r}") from error
        finally:
            connection.close()

    def _send(
        self, method: str, path: str, payload: object, *, timeout: float | None = None
    ) -> tuple[HTTPConnection, HTTPResponse]:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        assert self._parts.hostname is not None
        connection = kind(self._parts.hostname, self._parts.port, timeout=timeout or self._timeout)
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        body = None if payload is None else json.dumps(payload)
        address = f"{self._parts.path.rstrip('/')}/api/v1/{quote(path)}"
        try:
            connection.request(method, address, body, headers)
            return connection, connection.getresponse()
        except TimeoutError:
            connection.close()
            raise
        except (OSError, HTTPException) as error:
            connection.close()
            raise ApiError(f"AstrBot at {self._url} cannot be reached: {error}") from error


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise ApiError(f"AstrBot did not answer with JSON: {raw[:200]!r}")
    return body


def _events(response: HTTPResponse, deadline: float) -> Iterator[dict[str, Any]]:
    while line := response.readline():
        # AstrBot sends a heartbeat each second, so a silent answer is noticed here.
        if time.monotonic() > deadline:
            raise TimeoutError
        if not line.startswith(b"data:"):
            continue
        event = json.loads(line.removeprefix(b"data:"))
        if isinstance(event, dict):
            yield event
