"""The dashboard's own server on a core with fakes, in a thread: for clients that are not async."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from astrbot_plugin_subagents.dashboard_api.server import DashboardServer, Place
from astrbot_plugin_subagents.manager.testing import FakeClock, FakeHost, Say, says

from .core import Core, many_agents, task_id
from .dashboard import page_over

TOKEN = "correct horse battery"
SESSION = "test:FriendMessage:chat"
AGENT = "digger"
_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is served, with something in it."""

    url: str
    run_id: str
    """A finished run of `AGENT` in `SESSION`."""


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Serve a core in which one agent has done one task."""
    loop = asyncio.new_event_loop()
    found: list[Served] = []
    listening, leave = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with _serving(folder) as there:
            found.append(there)
            listening.set()
            await leave.wait()

    def work() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            listening.set()
            loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        listening.wait(_SECONDS)
        yield found[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.set)
        thread.join(_SECONDS)


@asynccontextmanager
async def _serving(folder: Path) -> AsyncIterator[Served]:
    host = FakeHost(says(Say(text="A hole.")), skills=("drawing",))
    async with Core(folder, host=host, settings=many_agents()) as core:
        turn = await core.turn(session=SESSION)
        await core.create(AGENT, turn)
        reply = await core.call(f"transfer_to_{AGENT}", turn, input="Dig.", background_task=True)
        await core.until_over(task_id(reply))
        api = page_over(core).api
        place = Place(host="127.0.0.1", port=0, token=TOKEN)
        server = DashboardServer(api, place, pages=folder, clock=FakeClock())
        await server.start()
        try:
            yield Served(url=f"http://127.0.0.1:{server.port}", run_id=task_id(reply))
        finally:
            await api.close()
            await server.stop()
