"""The dashboard's API over a core with fakes, asked as a web server asks it.

A test module takes the fixture by naming it: `open_page = dashboard.open_page`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.dashboard_api import Api, Dashboard
from astrbot_plugin_subagents.dashboard_api.testing import FakeCatalog, FakeSettings
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Hang, Say, Script, says

from .core import LONG, Core, task_id

NEW_AGENT: dict[str, Any] = {
    "session": "chat",
    "name": "painter",
    "system_prompt": "You paint.",
    "description": "Paints.",
    "tools": ["search"],
    "skills": ["drawing"],
    "provider_id": "main",
    "protected": True,
}
"""What a new agent is asked for with; each test gets what it changes by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An answer that says no."""

    status: int
    code: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page over one core."""

    it: Core
    api: Api
    settings: FakeSettings
    catalog: FakeCatalog

    async def get(self, path: str, /, **query: object) -> dict[str, Any]:
        """The reply to a GET that must succeed."""
        sent = {key: str(value) for key, value in query.items()}
        return await self._replied("GET", path, sent, None)

    async def post(self, path: str, /, **body: object) -> dict[str, Any]:
        """The reply to a POST that must succeed."""
        return await self._replied("POST", path, {}, json.dumps(body).encode())

    async def get_refused(self, path: str, /, **query: object) -> Refused:
        """What a GET is told that must not succeed."""
        sent = {key: str(value) for key, value in query.items()}
        return await self.refused("GET", path, query=sent)

    async def post_refused(self, path: str, /, **body: object) -> Refused:
        """What a POST is told that must not succeed."""
        return await self.refused("POST", path, body=json.dumps(body).encode())

    async def refused(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = "application/json",
    ) -> Refused:
        """What a request is told that must not succeed."""
        async with asyncio.timeout(LONG):
            answer = await self.api.answer(method, path, query or {}, body, content_type)
        assert answer.status >= 400, answer.body
        json.dumps(answer.body).encode()
        assert answer.body.keys() == {"error"}
        error = answer.body["error"]
        assert error.keys() == {"code", "message", "fields"}
        return Refused(status=answer.status, code=error["code"], fields=error["fields"])

    async def _replied(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None
    ) -> dict[str, Any]:
        async with asyncio.timeout(LONG):
            answer = await self.api.answer(method, path, query, body, "application/json")
        assert answer.status == 200, answer.body
        # as it goes over the wire
        reply: dict[str, Any] = json.loads(json.dumps(answer.body).encode())
        assert "data" not in reply
        assert reply.get("status") != "error"
        return reply

    @asynccontextmanager
    async def reader(self, **query: str) -> AsyncIterator["Reader"]:
        """Somebody who reads the stream and has heard its first chunk."""
        async with aclosing(self.api.stream(query, None)) as chunks:
            reader = Reader(chunks)
            reader.first = await reader.chunk()
            yield reader


class Reader:
    """What comes out of a stream."""

    def __init__(self, chunks: AsyncGenerator[str]) -> None:
        self._chunks = chunks
        self.first = ""

    async def chunk(self) -> str:
        """The next chunk, as it is sent."""
        async with asyncio.timeout(LONG):
            return await anext(self._chunks)

    async def events(self) -> list[dict[str, Any]]:
        """The events of the next chunk."""
        return events_of(await self.chunk())


def events_of(chunk: str) -> list[dict[str, Any]]:
    """The events of a chunk; each has its number and kind twice."""
    found = []
    for block in chunk.split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        event = json.loads(lines["data"])
        assert lines["id"] == str(event["id"])
        assert lines["event"] == event["kind"]
        found.append(event)
    return found


type OpenPage = Callable[..., Awaitable[Page]]
"""Makes pages, each over a core of its own; takes a script, or what `Core` takes."""


@pytest.fixture
async def open_page(tmp_path: Path) -> AsyncIterator[OpenPage]:
    """Makes pages over started cores; at the end each must close without leaving a task behind."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:

        async def make(script: Script | None = None, **arguments: Any) -> Page:
            arguments.setdefault("host", FakeHost(script))
            it = await stack.enter_async_context(Core(tmp_path, **arguments))
            page = page_over(it)
            stack.push_async_callback(page.api.close)
            return page

        yield make
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


def page_over(it: Core) -> Page:
    """A page over a core."""
    settings, catalog = FakeSettings(), FakeCatalog()
    api = Api(
        Dashboard(
            services=it.services,
            sessions=it.sessions,
            settings=settings,
            catalog=catalog,
            static_agents=lambda: it.static,
            store_kind="sqlite",
            version="0.1.0",
            started_at=EPOCH,
        )
    )
    return Page(it=it, api=api, settings=settings, catalog=catalog)


async def a_page(open_page: OpenPage, **arguments: Any) -> Page:
    """A page over a chat in which alice has the agent scout."""
    arguments.setdefault("host", FakeHost(skills=("drawing",)))
    page = await open_page(**arguments)
    await page.it.create("scout", await page.it.turn())
    return page


async def at_work(page: Page, hang: Hang) -> str:
    """A run of scout that hangs."""
    page.it.host.script = says(hang, Say(text="done"))
    turn = await page.it.turn()
    reply = await page.it.call("transfer_to_scout", turn, input="look", background_task=True)
    async with asyncio.timeout(LONG):
        await hang.reached.wait()
    return task_id(reply)
