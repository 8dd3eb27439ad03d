"""One demo from its start to its end: the stand-in model, AstrBot, and their orderly stop."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from standin.mind import respond
from standin.protocol import MODEL_NAME
from standin.server import ChatServer

from .astrbot_config import write_config
from .data_folder import DataFolder
from .instance import Instance
from .plugin_config import write_plugin_config
from .plugin_files import install_plugins
from .ports import refuse_taken
from .process import AstrBotProcess
from .readiness import until_ready
from .settings import HOST, Model, Settings, read_settings
from .stopping import StopRequest

STAND_IN_CONTEXT_TOKENS = 128_000


class _Stopped(Exception):
    """Ctrl-C or SIGTERM came."""


def run(clone: Path, early: StopRequest) -> int:
    """Run the demo until it is stopped.

    Args:
        clone: The root of this project.
        early: Knows whether a signal came before this was called.

    Returns:
        The exit code: 0 after Ctrl-C or SIGTERM, 1 when AstrBot ended by itself.

    Raises:
        Problem: It cannot start.
    """
    settings = read_settings(os.environ, clone)
    return asyncio.run(_run(settings, early))


async def _run(settings: Settings, early: StopRequest) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for kind in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(kind, stop.set)
    if early.came:
        return 0
    try:
        return await _demo(settings, stop)
    except _Stopped:
        _say("Stopped.")
        return 0


async def _demo(settings: Settings, stop: asyncio.Event) -> int:
    folder = DataFolder(settings.data)
    if not settings.data.exists():
        refuse_taken(settings.port)
    folder.open()
    try:
        refuse_taken(settings.port)
        async with _model(settings) as model:
            _say(f"Preparing {settings.data}")
            login = await _or_stop(asyncio.to_thread(folder.login), stop)
            instance = Instance(url=settings.url, user=login.user, password=login.password)
            await _or_stop(asyncio.to_thread(_prepare, folder, settings, model, instance), stop)
            return await _serve(folder, settings, instance, stop)
    finally:
        folder.close()


def _prepare(folder: DataFolder, settings: Settings, model: Model, instance: Instance) -> None:
    root = folder.root
    for name in ("config", "plugins", "temp"):
        (root / "data" / name).mkdir(parents=True, exist_ok=True)
    (root / ".astrbot").touch()
    write_config(root, login=folder.login(), model=model, port=settings.port)
    write_plugin_config(root)
    install_plugins(root, settings.clone)


@asynccontextmanager
async def _model(settings: Settings) -> AsyncIterator[Model]:
    """Yield the model to use, the stand-in's server running while it is used."""
    if settings.model is not None:
        _say(f"Model: {settings.model.name} at {settings.model.base_url}")
        yield settings.model
        return
    async with ChatServer(respond, keep_requests=0) as server:
        _say(f"Model: {MODEL_NAME}, which is no language model (set OPENAI_API_KEY for a real one)")
        yield Model(
            base_url=server.base_url,
            api_key="offline",
            name=MODEL_NAME,
            context_tokens=STAND_IN_CONTEXT_TOKENS,
        )


async def _serve(
    folder: DataFolder, settings: Settings, instance: Instance, stop: asyncio.Event
) -> int:
    astrbot = AstrBotProcess(folder, settings.port)
    _say(f"Starting AstrBot on {settings.url} (log: {folder.log})")
    try:
        await astrbot.start(_environment(folder, settings))
        token = await _first(until_ready(instance), astrbot.ended(), stop)
        if token is None:
            return _died(astrbot)
        folder.tell_instance(replace(instance, token=token))
        _say(f"WebUI: {instance.url}  user: {instance.user}  password: {instance.password}")
        _say(f"Ask in a second terminal with: {settings.ask_command}")
        _say("Stop with Ctrl-C. From now on AstrBot's messages go to the log only.")
        astrbot.be_quiet()
        _say(f"ready {instance.url} {instance.user} {instance.password}")
        await _or_stop(astrbot.ended(), stop)
        return _died(astrbot)
    finally:
        if astrbot.runs:
            _say("Stopping AstrBot")
        await astrbot.stop()


def _environment(folder: DataFolder, settings: Settings) -> dict[str, str]:
    return {
        **os.environ,
        "ASTRBOT_ROOT": str(folder.root),
        "ASTRBOT_DISABLE_METRICS": "1",
        "DASHBOARD_HOST": HOST,
        "DASHBOARD_PORT": str(settings.port),
        "PYTHONUNBUFFERED": "1",
        "SUBAGENTS_DEMO_DOCS": str(settings.clone),
    }


def _died(astrbot: AstrBotProcess) -> int:
    _say("AstrBot ended by itself. Its last lines:")
    for line in astrbot.last_lines:
        _say(f"  {line}")
    return 1


async def _first[T](
    goal: Coroutine[Any, Any, T], failure: Coroutine[Any, Any, int], stop: asyncio.Event
) -> T | None:
    """Wait for the goal and return what it gives; None when the failure came first."""
    goal_task = asyncio.create_task(goal)
    failure_task = asyncio.create_task(failure)
    try:
        await _or_stop(
            asyncio.wait({goal_task, failure_task}, return_when=asyncio.FIRST_COMPLETED), stop
        )
        return await goal_task if goal_task.done() else None
    finally:
        await _end(goal_task, failure_task)


async def _or_stop[T](work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T:
    """Wait for some work, or raise `_Stopped` when the demo is to end first."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            raise _Stopped
        return await task
    finally:
        await _end(task, stopped)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _say(line: str) -> None:
    print(line, flush=True)
