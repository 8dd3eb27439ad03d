"""The JSON forms of OpenAI's chat completions: whole replies, stream chunks, models, errors.

It only builds data; `server` sends it.
"""

import time
import uuid
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from .protocol import ChatReply, ChatRequest, ToolCall, Usage

CHARACTERS_PER_TOKEN = 4
STREAM_PIECE_CHARACTERS = 24

_ERROR_TYPES: Mapping[int, str] = MappingProxyType(
    {
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        429: "rate_limit_error",
    }
)


def usage_of(request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
    """Return the usage of a reply, estimated from the lengths where the reply names none."""
    usage = reply.usage or _estimate(request, reply)
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def completion(request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
    """Return the reply as one whole chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.tool_calls:
        message["tool_calls"] = [_whole_call(call) for call in reply.tool_calls]
    elif not reply.text:
        message["content"] = ""
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    return {
        **_envelope(request, "chat.completion"),
        "choices": [choice],
        "usage": usage_of(request, reply),
    }


def chunks(request: ChatRequest, reply: ChatReply) -> Iterator[dict[str, Any]]:
    """Yield the reply as the chunks of a stream, the usage last where it was asked for."""
    envelope = _envelope(request, "chat.completion.chunk")
    if request.include_usage:
        envelope["usage"] = None
    for delta in _deltas(reply):
        yield {**envelope, "choices": [_chunk_choice(delta, None)]}
    yield {**envelope, "choices": [_chunk_choice({}, _finish(reply))]}
    if request.include_usage:
        yield {**envelope, "choices": [], "usage": usage_of(request, reply)}


def models(names: tuple[str, ...], owner: str) -> dict[str, Any]:
    """Return the list of models that the server offers."""
    entries = [{"id": each, "object": "model", "created": 0, "owned_by": owner} for each in names]
    return {"object": "list", "data": entries}


def error(status: int, message: str) -> dict[str, Any]:
    """Return an error in OpenAI's form."""
    kind = _ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _envelope(request: ChatRequest, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
    }


def _estimate(request: ChatRequest, reply: ChatReply) -> Usage:
    said = len(reply.text) + sum(len(call.arguments_text()) for call in reply.tool_calls)
    return Usage(
        prompt_tokens=max(1, len(request.raw) // CHARACTERS_PER_TOKEN),
        completion_tokens=max(1, said // CHARACTERS_PER_TOKEN),
    )


def _finish(reply: ChatReply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _whole_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments_text()}
    return {"id": call.id, "type": "function", "function": function}


def _chunk_choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def _deltas(reply: ChatReply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.text):
        yield {"content": piece}
    for index, call in enumerate(reply.tool_calls):
        first = {"name": call.name, "arguments": ""}
        head = {"index": index, "id": call.id, "type": "function", "function": first}
        yield {"tool_calls": [head]}
        for piece in _pieces(call.arguments_text()):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), STREAM_PIECE_CHARACTERS):
        yield text[start : start + STREAM_PIECE_CHARACTERS]
