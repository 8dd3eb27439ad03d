"""The dashboard's own server on a real socket, with an API that says what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from astrbot_plugin_subagents.dashboard_api.answers import Answer
from astrbot_plugin_subagents.dashboard_api.errors import ApiProblem
from astrbot_plugin_subagents.dashboard_api.server import DashboardServer, Place
from astrbot_plugin_subagents.manager.testing import FakeClock

TOKEN = "correct horse battery"
LONG = 5.0
"""Seconds after which a test that waits has failed."""


@dataclass(slots=True)
class EchoApi:
    """Stands in for the API."""

    asked: list[str] = field(default_factory=list)
    status: int = 200
    error: Exception | None = None
    refused: ApiProblem | None = None
    """Why there is no stream."""
    chunks: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)
    streams: int = 0
    """How many are open."""

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str | None,
    ) -> Answer:
        """Say it back."""
        self.asked.append(f"{method} {path}")
        if self.error is not None:
            raise self.error
        sent = (body or b"").decode()
        return Answer(
            status=self.status,
            body={
                "asked": f"{method} {path}",
                "query": dict(query),
                "body": sent,
                "type": content_type,
            },
        )

    async def stream(
        self, query: Mapping[str, str], last_event_id: str | None
    ) -> AsyncGenerator[str]:
        """Say it back, then what the test puts into `chunks`."""
        if self.refused is not None:
            raise self.refused
        self.streams += 1
        try:
            yield f"data: {dict(query)} {last_event_id}\n\n"
            while True:
                yield await self.chunks.get()
        finally:
            self.streams -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A server that listens, and a browser's view of it."""

    url: str
    api: EchoApi
    clock: FakeClock
    server: DashboardServer

    @asynccontextmanager
    async def visitor(self, *, signed_in: bool = True) -> AsyncIterator[aiohttp.ClientSession]:
        """Somebody with cookies of their own."""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(self.url, cookie_jar=jar) as client:
            if signed_in:
                async with client.post("/api/login", json={"token": TOKEN}) as response:
                    assert response.status == 200
            yield client


@asynccontextmanager
async def site(pages: Path, *, host: str = "127.0.0.1") -> AsyncIterator[Site]:
    """Serve a folder of pages at a free port."""
    api, clock = EchoApi(), FakeClock()
    place = Place(host=host, port=0, token=TOKEN)
    server = DashboardServer(api, place, pages=pages, clock=clock)
    await server.start()
    try:
        yield Site(url=f"http://127.0.0.1:{server.port}", api=api, clock=clock, server=server)
    finally:
        await server.stop()
