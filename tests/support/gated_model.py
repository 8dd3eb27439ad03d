"""The demo's stand-in model, which lets its sub-agents wait until a test opens a gate."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from standin.mind import respond
from standin.names import MANAGEMENT, SEARCH
from standin.protocol import ChatReply, ChatRequest
from standin.server import ChatServer

START_SECONDS = 10


class GatedModel:
    """Serves until it is stopped; made in the thread that serves."""

    def __init__(self) -> None:
        self.base_url = ""
        self._loop = asyncio.new_event_loop()
        self._gate = asyncio.Event()
        self._stop = asyncio.Event()
        self._runs = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])

    def start(self) -> None:
        """Serve; the gate is open."""
        self._gate.set()
        self._thread.start()
        assert self._runs.wait(START_SECONDS)

    def shut(self) -> None:
        """Let sub-agents wait from now on."""
        self._loop.call_soon_threadsafe(self._gate.clear)

    def open(self) -> None:
        """Let all go on."""
        self._loop.call_soon_threadsafe(self._gate.set)

    def stop(self) -> None:
        """Serve no more."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        async with ChatServer(self._respond, keep_requests=0) as server:
            self.base_url = server.base_url
            self._runs.set()
            await self._stop.wait()

    async def _respond(self, request: ChatRequest) -> ChatReply:
        offered = request.tool_names()
        if SEARCH in offered and not any(each in MANAGEMENT for each in offered):
            await self._gate.wait()
        return await respond(request)


@contextmanager
def gated_model() -> Iterator[GatedModel]:
    """One that serves."""
    model = GatedModel()
    model.start()
    try:
        yield model
    finally:
        model.stop()
