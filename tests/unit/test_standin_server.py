"""The stand-in's server over real HTTP: whole and streamed replies, usage, errors."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession

from standin.protocol import MODEL_NAME, ChatReply, ChatRequest, ToolCall, Usage
from standin.server import ChatServer

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CALL = ToolCall(id="call_1", name="look", arguments={"where": "été " * 20})
BROKEN = ToolCall(id="call_2", name="look", arguments='{"where": ')
USAGE = Usage(prompt_tokens=11, completion_tokens=7, cached_tokens=3)
REPLIES = {
    "text": ChatReply(text="Hello, this is a text of some length. " * 3, usage=USAGE),
    "tools": ChatReply(text="Wait.", tool_calls=(CALL, BROKEN)),
    "empty": ChatReply(),
    "busy": ChatReply(status=429, error="slow down"),
    "down": ChatReply(status=503),
    "slow": ChatReply(text="late", delay_seconds=60),
}


async def by_last_word(request: ChatRequest) -> ChatReply:
    return REPLIES[request.last_user_text()]


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with ChatServer(by_last_word) as running:
        yield running


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


async def post(server: ChatServer, payload: Any) -> tuple[int, dict[str, Any]]:
    async with (
        ClientSession() as client,
        client.post(f"{server.base_url}/chat/completions", data=json.dumps(payload)) as answer,
    ):
        return answer.status, await answer.json()


async def stream(server: ChatServer, text: str, **more: Any) -> list[dict[str, Any]]:
    async with (
        ClientSession() as client,
        client.post(
            f"{server.base_url}/chat/completions", json=body(text, stream=True, **more)
        ) as answer,
    ):
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in (await answer.text()).split("\n\n")]
    assert lines[-2:] == ["[DONE]", ""]
    return [json.loads(line) for line in lines[:-2]]


async def test_a_text_comes_whole_with_its_usage(server: ChatServer) -> None:
    status, answer = await post(server, body("text"))

    assert status == 200
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["choices"][0]["message"] == {
        "role": "assistant",
        "content": REPLIES["text"].text,
    }
    assert answer["usage"] == {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 3},
    }


async def test_tool_calls_come_whole_even_with_broken_arguments(server: ChatServer) -> None:
    _, answer = await post(server, body("tools", tools=[TOOL]))

    choice = answer["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert [each["id"] for each in choice["message"]["tool_calls"]] == ["call_1", "call_2"]
    functions = [each["function"] for each in choice["message"]["tool_calls"]]
    assert json.loads(functions[0]["arguments"]) == CALL.arguments
    assert functions[1] == {"name": "look", "arguments": '{"where": '}
    assert answer["usage"]["prompt_tokens"] > 0


async def test_a_streamed_text_adds_up_and_ends_with_the_usage(server: ChatServer) -> None:
    chunks = await stream(server, "text", stream_options={"include_usage": True})

    deltas = [each["choices"][0]["delta"] for each in chunks[:-1]]
    assert "".join(each.get("content") or "" for each in deltas) == REPLIES["text"].text
    assert len(deltas) > 4
    assert deltas[0]["role"] == "assistant"
    finishes = [each["choices"][0]["finish_reason"] for each in chunks[:-1]]
    assert finishes == [None] * (len(finishes) - 1) + ["stop"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 18
    assert len({each["id"] for each in chunks}) == 1


async def test_streamed_tool_calls_add_up_by_their_index(server: ChatServer) -> None:
    chunks = await stream(server, "tools", tools=[TOOL])

    pieces = [
        call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", [])
    ]
    arguments = ["", ""]
    for piece in pieces:
        arguments[piece["index"]] += piece["function"]["arguments"]
    assert [each["id"] for each in pieces if "id" in each] == ["call_1", "call_2"]
    assert json.loads(arguments[0]) == CALL.arguments
    assert arguments[1] == BROKEN.arguments
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert all("usage" not in each for each in chunks)


async def test_an_empty_reply_is_an_empty_text(server: ChatServer) -> None:
    _, answer = await post(server, body("empty"))

    assert answer["choices"][0]["message"] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize(
    ("name", "status", "kind", "message"),
    [
        ("busy", 429, "rate_limit_error", "slow down"),
        ("down", 503, "server_error", "the model answered with status 503"),
    ],
)
async def test_an_error_of_the_model_has_the_form_of_openai(
    server: ChatServer, name: str, status: int, kind: str, message: str
) -> None:
    for streamed in (False, True):
        answer = await post(server, body(name, stream=streamed))

        error = {"message": message, "type": kind, "param": None, "code": None}
        assert answer == (status, {"error": error})


@pytest.mark.parametrize(
    "payload",
    [
        [],
        {"messages": [{"role": "user", "content": "text"}]},
        {"model": "m"},
        {"model": "m", "messages": []},
        {"model": "m", "messages": ["text"]},
        {"model": "m", "messages": [{"role": "user"}], "tools": {}},
    ],
)
async def test_a_request_that_is_none_gets_status_400(server: ChatServer, payload: Any) -> None:
    status, answer = await post(server, payload)

    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert not server.requests


async def test_broken_json_and_unknown_paths_get_json_errors(server: ChatServer) -> None:
    async with ClientSession() as client:
        async with client.post(f"{server.base_url}/chat/completions", data=b"{") as broken:
            assert (broken.status, "error" in await broken.json()) == (400, True)
        async with client.get(f"{server.base_url}/nothing") as unknown:
            assert unknown.status == 404
            assert (await unknown.json())["error"]["type"] == "not_found_error"
        async with client.get(f"{server.base_url}/chat/completions") as wrong:
            assert (wrong.status, "error" in await wrong.json()) == (405, True)


async def test_a_responder_that_fails_is_an_error_of_the_server(server: ChatServer) -> None:
    status, answer = await post(server, body("nobody planned this"))

    assert status == 500
    assert "KeyError" in answer["error"]["message"]


async def test_the_models_say_that_this_is_a_stand_in(server: ChatServer) -> None:
    async with ClientSession() as client, client.get(f"{server.base_url}/models") as answer:
        model = (await answer.json())["data"][0]

    assert model["id"] == MODEL_NAME == "offline-stand-in"
    assert "not a language model" in model["owned_by"]


async def test_requests_are_remembered_in_order_and_only_the_newest() -> None:
    async with ChatServer(by_last_word, keep_requests=2) as server:
        for text in ("text", "empty", "tools"):
            await post(server, body(text, tools=[TOOL]))

        assert [each.last_user_text() for each in server.requests] == ["empty", "tools"]
        newest = server.requests[-1]
        assert newest.tool_names() == ("look",)
        assert json.loads(newest.raw)["messages"] == newest.messages


async def test_stopping_does_not_wait_for_a_slow_reply() -> None:
    server = ChatServer(by_last_word)
    await server.start()
    async with ClientSession() as client:
        slow = asyncio.create_task(
            client.post(f"{server.base_url}/chat/completions", json=body("slow"))
        )
        async with asyncio.timeout(5):
            while not server.requests:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
            await server.stop()
            await server.stop()
        with pytest.raises(ClientError):
            await slow


async def test_a_taken_port_is_an_error(server: ChatServer) -> None:
    port = int(server.base_url.split(":")[2].split("/")[0])

    with pytest.raises(OSError, match=str(port)):
        await ChatServer(by_last_word, port=port).start()


def test_text_parts_of_a_message_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    request = ChatRequest.parse(
        json.dumps(
            {
                "model": "m",
                "messages": [
                    {"role": "system", "content": "rules"},
                    {"role": "user", "content": "first"},
                    {"role": "user", "content": parts},
                    {"role": "assistant", "content": None},
                ],
            }
        ).encode()
    )

    assert (request.last_user_text(), request.system_text()) == ("a\nb", "rules")
