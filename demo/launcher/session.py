"""One demo from its start to its end: the stand-in model, AstrBot, and their orderly stop."""

import asyncio
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from .data_folder import DataFolder
from .instance import Instance
from .ports import refuse_taken
from .process import AstrBotProcess
from .readiness import until_ready
from .settings import Settings, read_settings
from .starting import (
    environment_of,
    first,
    model_of,
    or_stop,
    prepare,
    say,
    until_stopped,
)
from .stopping import StopRequest


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
    return asyncio.run(until_stopped(early, partial(_demo, settings)))


async def _demo(settings: Settings, stop: asyncio.Event) -> int:
    folder = DataFolder(settings.data)
    if not settings.data.exists():
        refuse_taken(settings.port)
    folder.open()
    try:
        refuse_taken(settings.port)
        async with model_of(settings) as model:
            say(f"Preparing {settings.data}")
            login = await or_stop(asyncio.to_thread(folder.login), stop)
            instance = Instance(url=settings.url, user=login.user, password=login.password)
            await or_stop(asyncio.to_thread(prepare, folder, settings, model), stop)
            return await _serve(folder, settings, instance, stop)
    finally:
        folder.close()


async def _serve(
    folder: DataFolder, settings: Settings, instance: Instance, stop: asyncio.Event
) -> int:
    astrbot = AstrBotProcess(folder, settings.port)
    say(f"Starting AstrBot on {settings.url} (log: {folder.log})")
    try:
        await astrbot.start(environment_of(folder, settings))
        token = await first(until_ready(instance), astrbot.ended(), stop)
        if token is None:
            return _died(astrbot)
        folder.tell_instance(replace(instance, token=token))
        say(f"WebUI: {instance.url}  user: {instance.user}  password: {instance.password}")
        say(f"Ask in a second terminal with: {settings.ask_command}")
        say("Stop with Ctrl-C. From now on AstrBot's messages go to the log only.")
        astrbot.be_quiet()
        say(f"ready {instance.url} {instance.user} {instance.password}")
        await or_stop(astrbot.ended(), stop)
        return _died(astrbot)
    finally:
        if astrbot.runs:
            say("Stopping AstrBot")
        await astrbot.stop()


def _died(astrbot: AstrBotProcess) -> int:
    say("AstrBot ended by itself. Its last lines:")
    for line in astrbot.last_lines:
        say(f"  {line}")
    return 1
