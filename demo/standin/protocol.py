"""What the server and the mind behind it say to each other.

It is the small part of OpenAI's chat completions that AstrBot uses, as typed data. It knows no
HTTP (see `server`) and no rules of an answer (see `mind`). Tests use it to script a model.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

MODEL_NAME = "offline-stand-in"


class BadRequest(Exception):
    """The client sent something that is no chat request; the text says what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call that the model wants made."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    """A mapping is sent as JSON; a string is sent as it is, so that broken JSON can be tried."""

    def arguments_text(self) -> str:
        """Return the arguments as they go over the wire."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Part of `prompt_tokens`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request as a client sent it."""

    model: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    stream: bool
    raw: bytes
    """The body, byte for byte."""
    include_usage: bool = False
    """The client of a stream asked for a last chunk with the usage."""

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Read a request body.

        Raises:
            BadRequest: It is no JSON object, or a needed field is missing or of the wrong kind.
        """
        try:
            body = json.loads(raw)
        except ValueError as error:
            raise BadRequest(f"the body is not valid JSON: {error}") from error
        if not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object")
        model = body.get("model")
        if not isinstance(model, str) or not model:
            raise BadRequest("'model' is missing: give the name of a model")
        options = body.get("stream_options")
        return cls(
            model=model,
            messages=_objects(body, "messages", needed=True),
            tools=_objects(body, "tools", needed=False),
            stream=body.get("stream") is True,
            raw=raw,
            include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        )

    def tool_names(self) -> tuple[str, ...]:
        """Return the names of the offered tools, in the order in which they were sent."""
        functions = (tool.get("function") for tool in self.tools)
        return tuple(str(each.get("name", "")) for each in functions if isinstance(each, dict))

    def tool_parameters(self, name: str) -> dict[str, Any]:
        """Return the parameter schemas of an offered tool by parameter; empty when it has none."""
        for tool in self.tools:
            function = tool.get("function")
            if isinstance(function, dict) and function.get("name") == name:
                schema = function.get("parameters")
                found = schema.get("properties") if isinstance(schema, dict) else None
                return found if isinstance(found, dict) else {}
        return {}

    def last_user_text(self) -> str:
        """Return the text of the newest user message, all its text parts joined."""
        for message in reversed(self.messages):
            if message.get("role") == "user":
                return message_text(message)
        return ""

    def system_text(self) -> str:
        """Return the text of all system messages."""
        texts = (message_text(each) for each in self.messages if each.get("role") == "system")
        return "\n".join(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What the model answers: text, tool calls, or an error."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    """None: the server estimates it from the lengths of request and reply."""
    status: int = 200
    """Any other HTTP status makes the reply an error with the text of `error`."""
    error: str = ""
    delay_seconds: float = 0.0
    """How long the model seems to think before its first byte."""


type Responder = Callable[[ChatRequest], Awaitable[ChatReply]]
"""The mind behind the server: it is asked once for every chat request."""


def message_text(message: dict[str, Any]) -> str:
    """Return the text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict))
    return "\n".join(part for part in parts if isinstance(part, str))


def _objects(body: dict[str, Any], key: str, *, needed: bool) -> list[dict[str, Any]]:
    value = body.get(key)
    if value is None and not needed:
        return []
    if not isinstance(value, list) or (needed and not value):
        raise BadRequest(f"'{key}' must be a list" + (" with at least one entry" * needed))
    if not all(isinstance(each, dict) for each in value):
        raise BadRequest(f"each entry of '{key}' must be an object")
    return value
