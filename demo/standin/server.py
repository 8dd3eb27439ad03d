"""An OpenAI-compatible HTTP server whose model is a function of ours.

It speaks `POST /v1/chat/completions` (whole and streamed) and `GET /v1/models`, and answers
errors in OpenAI's form. It decides nothing about the answer: that is the responder's work. The
demo puts the stand-in's mind behind it, tests put a script behind it.
"""

import asyncio
import json
import logging
from collections import deque
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from aiohttp.typedefs import Handler

from . import wire
from .protocol import MODEL_NAME, BadRequest, ChatReply, ChatRequest, Responder

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024 * 1024
OWNER = "a rule-based offline stand-in, not a language model"


class ChatServer:
    """Serves one responder; `async with` starts and stops it.

    Args:
        responder: Asked once per chat request; several requests may be open side by side.
        host: The address to listen on.
        port: The port to listen on; 0 takes any free one.
        keep_requests: How many of the newest requests `requests` remembers.
    """

    def __init__(
        self,
        responder: Responder,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        keep_requests: int = 1000,
    ) -> None:
        self.requests: deque[ChatRequest] = deque(maxlen=keep_requests)
        """The requests seen, in order, the newest last."""
        self._responder = responder
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """The address for an OpenAI client; the port is known once the server runs."""
        return f"http://{self._host}:{self._port}/v1"

    async def start(self) -> None:
        """Start to listen.

        Raises:
            OSError: The port is taken.
        """
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[_errors_as_json])
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        # A reply that "thinks" for long must end with its client and must not hold up stop().
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        site = web.TCPSite(runner, self._host, self._port)
        try:
            await site.start()
        except OSError:
            await runner.cleanup()
            raise
        self._port = runner.addresses[0][1]
        self._runner = runner

    async def stop(self) -> None:
        """Stop to listen and end open requests; a stopped server may be stopped again."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        """Start the server."""
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server."""
        await self.stop()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response(wire.models((MODEL_NAME,), OWNER))

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        request = ChatRequest.parse(await http.read())
        self.requests.append(request)
        reply = await self._responder(request)
        if reply.delay_seconds > 0:
            await asyncio.sleep(reply.delay_seconds)
        if reply.status != 200:
            message = reply.error or f"the model answered with status {reply.status}"
            return web.json_response(wire.error(reply.status, message), status=reply.status)
        if request.stream:
            return await _send_stream(http, request, reply)
        return web.json_response(wire.completion(request, reply))


async def _send_stream(
    http: web.Request, request: ChatRequest, reply: ChatReply
) -> web.StreamResponse:
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    response = web.StreamResponse(headers=headers)
    await response.prepare(http)
    for chunk in wire.chunks(request, reply):
        await response.write(_event(chunk))
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadRequest as error:
        return web.json_response(wire.error(400, str(error)), status=400)
    except web.HTTPException as error:
        message = f"{error.reason}: {request.method} {request.path}"
        return web.json_response(wire.error(error.status, message), status=error.status)
    except ConnectionError:
        raise  # The client has gone; there is nobody to send an error to.
    except Exception as error:
        # The edge of the server: whatever a responder raises, its client needs an answer.
        logger.exception("The responder failed")
        return web.json_response(wire.error(500, f"the responder failed: {error!r}"), status=500)
