"""Two AstrBots with one database: started, watched while they share their work, stopped."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .data_folder import DataFolder
from .database import DATABASE, RunSeen, own_database, runs_seen, shown
from .instance import Instance
from .plugin_files import PLUGIN
from .ports import refuse_taken
from .problem import Problem
from .process import AstrBotProcess
from .readiness import until_ready
from .settings import DEFAULT_DATA, Model, Settings, read_settings
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

USUAL_FOLDER = ".demo-workers"
NAMES = ("one", "two")


@dataclass(slots=True, kw_only=True)
class Bot:
    """One of the AstrBots."""

    name: str
    settings: Settings
    folder: DataFolder
    astrbot: AstrBotProcess


def run(clone: Path, early: StopRequest) -> int:
    """Run the demo until it is stopped.

    Args:
        clone: The root of this project.
        early: Knows whether a signal came before this was called.

    Returns:
        The exit code: 0 after Ctrl-C or SIGTERM, 1 when both AstrBots ended by themselves.

    Raises:
        Problem: It cannot start.
    """
    settings = read_settings(os.environ, clone)
    if settings.data == clone / DEFAULT_DATA:
        settings = replace(settings, data=clone / USUAL_FOLDER)
    return asyncio.run(until_stopped(early, partial(_with_database, settings)))


async def _with_database(settings: Settings, stop: asyncio.Event) -> int:
    url = await or_stop(own_database(os.environ), stop)
    say(f"Database: {shown(url)}; it is the demo's own and stays (drop database {DATABASE})")
    return await _demo(replace(settings, database_url=url), stop)


async def _demo(settings: Settings, stop: asyncio.Event) -> int:
    async with AsyncExitStack() as stack:
        bots = [_bot(settings, number) for number in range(len(NAMES))]
        for bot in bots:
            refuse_taken(bot.settings.port)
            bot.folder.open()
            stack.callback(bot.folder.close)
        model = await stack.enter_async_context(model_of(settings))
        for bot in bots:
            stack.push_async_callback(_stop, bot)
        say("Starting " + ", ".join(f"{bot.name} on {bot.settings.url}" for bot in bots))
        started = await asyncio.gather(*(_start(bot, model, stop) for bot in bots))
        if not all(started):
            return _died(bots)
        for bot in bots:
            say(f"Ask {bot.name} in a second terminal with: {bot.settings.ask_command}")
        say("Stop with Ctrl-C. What follows is which process executes which task.")
        say("ready " + " ".join(bot.settings.url for bot in bots))
        await first(_watch(settings.database_url, bots), _all_ended(bots), stop)
        return _died(bots)


def _bot(settings: Settings, number: int) -> Bot:
    own = replace(settings, data=settings.data / NAMES[number], port=settings.port + number)
    folder = DataFolder(own.data)
    astrbot = AstrBotProcess(folder, own.port)
    return Bot(name=NAMES[number], settings=own, folder=folder, astrbot=astrbot)


async def _start(bot: Bot, model: Model, stop: asyncio.Event) -> bool:
    login = await or_stop(asyncio.to_thread(bot.folder.login), stop)
    instance = Instance(url=bot.settings.url, user=login.user, password=login.password)
    await or_stop(asyncio.to_thread(prepare, bot.folder, bot.settings, model), stop)
    await bot.astrbot.start(environment_of(bot.folder, bot.settings))
    token = await first(until_ready(instance), bot.astrbot.ended(), stop)
    if token is None:
        return False
    _refuse_alone(bot)
    bot.folder.tell_instance(replace(instance, token=token))
    bot.astrbot.be_quiet()
    say(f"{bot.name}: WebUI {instance.url}  user {instance.user}  password {instance.password}")
    say(f"{bot.name}: process {bot.astrbot.pid}; kill -9 it in the middle, and see who goes on")
    return True


def _refuse_alone(bot: Bot) -> None:
    """A process that shares its work has a name, in a file that the plugin makes."""
    if not (bot.folder.root / "data" / "plugin_data" / PLUGIN / "home").is_file():
        raise Problem(f"{bot.name} does not share its work; its log, {bot.folder.log}, says why.")


async def _watch(url: str, bots: Sequence[Bot]) -> None:
    told: dict[str, tuple[str, str]] = {}
    async for run in runs_seen(url):
        where = _executed_by(run, bots)
        if told.get(run.run_id) != (run.state, where):
            told[run.run_id] = (run.state, where)
            say(f"  {run.name} ({run.run_id}): {run.state}{f' in {where}' if where else ''}")


def _executed_by(run: RunSeen, bots: Sequence[Bot]) -> str:
    """The bot whose process has the task; a process is named after its machine and its number."""
    for bot in bots:
        if run.state != "queued" and f"-{bot.astrbot.pid}-" in run.executor:
            return bot.name
    return ""


async def _all_ended(bots: Sequence[Bot]) -> int:
    await asyncio.gather(*(_ended(bot) for bot in bots))
    return 1


async def _ended(bot: Bot) -> None:
    code = await bot.astrbot.ended()
    say(f"{bot.name} ended by itself ({code}); its log is {bot.folder.log}")


async def _stop(bot: Bot) -> None:
    if bot.astrbot.runs:
        say(f"Stopping {bot.name}")
    await bot.astrbot.stop()


def _died(bots: Sequence[Bot]) -> int:
    for bot in bots:
        if not bot.astrbot.runs:
            say(f"The last lines of {bot.name}:")
            for line in bot.astrbot.last_lines:
                say(f"  {line}")
    return 1
