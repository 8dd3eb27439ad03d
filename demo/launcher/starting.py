"""What every demo's start has: the model, what lies in the data folder, the wish to end."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from standin.mind import respond
from standin.protocol import MODEL_NAME
from standin.server import ChatServer

from .astrbot_config import write_config
from .data_folder import DataFolder
from .plugin_config import write_plugin_config
from .plugin_files import install_plugins
from .settings import HOST, Model, Settings
from .stopping import StopRequest

STAND_IN_CONTEXT_TOKENS = 128_000


class Stopped(Exception):
    """Ctrl-C or SIGTERM came."""


async def until_stopped(early: StopRequest, demo: Callable[[asyncio.Event], Awaitable[int]]) -> int:
    """Run a demo, which an event tells that it is to end.

    Args:
        early: Knows whether a signal came before this was called.
        demo: Gives its exit code.

    Returns:
        The exit code; 0 when it was stopped.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for kind in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(kind, stop.set)
    if early.came:
        return 0
    try:
        return await demo(stop)
    except Stopped:
        say("Stopped.")
        return 0


def prepare(folder: DataFolder, settings: Settings, model: Model) -> None:
    """Lay everything that AstrBot needs into its root, in place of what an earlier start laid."""
    root = folder.root
    for name in ("config", "plugins", "temp"):
        (root / "data" / name).mkdir(parents=True, exist_ok=True)
    (root / ".astrbot").touch()
    write_config(root, login=folder.login(), model=model, port=settings.port)
    write_plugin_config(root, settings.database_url)
    install_plugins(root, settings.clone)


@asynccontextmanager
async def model_of(settings: Settings) -> AsyncIterator[Model]:
    """Yield the model to use, the stand-in's server running while it is used."""
    if settings.model is not None:
        say(f"Model: {settings.model.name} at {settings.model.base_url}")
        yield settings.model
        return
    async with ChatServer(respond, keep_requests=0) as server:
        say(f"Model: {MODEL_NAME}, which is no language model (set OPENAI_API_KEY for a real one)")
        yield Model(
            base_url=server.base_url,
            api_key="offline",
            name=MODEL_NAME,
            context_tokens=STAND_IN_CONTEXT_TOKENS,
        )


def environment_of(folder: DataFolder, settings: Settings) -> dict[str, str]:
    """The environment variables of one AstrBot."""
    return {
        **os.environ,
        "ASTRBOT_ROOT": str(folder.root),
        "ASTRBOT_DISABLE_METRICS": "1",
        "DASHBOARD_HOST": HOST,
        "DASHBOARD_PORT": str(settings.port),
        "PYTHONUNBUFFERED": "1",
        "SUBAGENTS_DEMO_DOCS": str(settings.clone),
    }


async def first[T](
    goal: Coroutine[Any, Any, T], failure: Coroutine[Any, Any, int], stop: asyncio.Event
) -> T | None:
    """Wait for the goal and return what it gives; None when the failure came first."""
    goal_task = asyncio.create_task(goal)
    failure_task = asyncio.create_task(failure)
    try:
        await or_stop(
            asyncio.wait({goal_task, failure_task}, return_when=asyncio.FIRST_COMPLETED), stop
        )
        return await goal_task if goal_task.done() else None
    finally:
        await _end(goal_task, failure_task)


async def or_stop[T](work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T:
    """Wait for some work, or raise `Stopped` when the demo is to end first."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            raise Stopped
        return await task
    finally:
        await _end(task, stopped)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def say(line: str) -> None:
    """Tell the person at the terminal."""
    print(line, flush=True)
