"""A disk that is full or read-only while children are at work: they go on, say so, lose nothing."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from support import bad_disk
from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.replies import after, call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig.", "tools": ["get_weather"]})
KEEP = ("protect_subagent", {"name": "digger"})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})
DIG_MORE = ("transfer_to_digger", {"input": "Dig there.", "background_task": True})
LOOK = ("get_weather", {"city": "Rome"})
UNSAVED = "Note: the bot cannot save anything just now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Where the plugin's data lies."""

    folder: Path
    breaks: Callable[[], AbstractContextManager[None]]
    """While this is entered, nothing can be written there."""
    problem: str
    """What users of the store are told then."""

    @property
    def store(self) -> Path:
        """The plugin's store."""
        (file,) = self.folder.glob("*.sqlite3")
        return file

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What the store holds."""
        with closing(sqlite3.connect(f"{self.store.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()


@pytest_asyncio.fixture(loop_scope="session", params=["full", "read_only"])
async def disk(bot: Bot, request: pytest.FixtureRequest) -> AsyncIterator[Disk]:
    """An empty disk of the plugin's own, with an empty store."""
    folder = bot.root.data / "plugin_data" / PLUGIN_NAME
    await bot.plugins.disable()
    with ExitStack() as stack:
        stack.callback(bot.errors.clear)
        try:
            if request.param == "full":
                stack.enter_context(bad_disk.small_disk(folder))
            else:
                throw_away(folder)
            await bot.plugins.enable()
            yield a_disk(folder, request.param)
            await bot.plugins.disable()
            throw_away(folder)
        finally:
            stack.close()
            await bot.plugins.enable()


def a_disk(folder: Path, kind: str) -> Disk:
    def make_read_only() -> AbstractContextManager[None]:
        return bad_disk.no_writes(*folder.glob("*.sqlite3"), *folder.glob("*.sqlite3-wal"))

    if kind == "full":
        room = lambda: bad_disk.no_room(folder)  # noqa: E731 - one of two, side by side
        return Disk(folder=folder, breaks=room, problem="the disk is full")
    return Disk(folder=folder, breaks=make_read_only, problem="the disk cannot be read or written")


def throw_away(folder: Path) -> None:
    for file in folder.glob("*.sqlite3*"):
        if file.suffix != ".lock":
            file.unlink()


async def test_children_go_on_and_say_that_nothing_is_saved_until_it_is(
    bot: Bot, model: Script, disk: Disk, weather: object, caplog: pytest.LogCaptureFixture
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*KEEP), call(*DIG_BEHIND), say("It digs."))
    model.child("digger", after(gate, call(*LOOK)), call(*LOOK), say("a hole"))
    await bot.say("dig")
    await model.reached("digger")

    with caplog.at_level("INFO"), disk.breaks():
        model.main(call(*DIG_MORE), call("wait_for_subagent"), say("It dug."))
        posted = bot.post("dig more")
        await model.reached("main", 6)
        gate.set()
        turn = await posted.done()
        before = disk.rows("SELECT state FROM run")
    refused, result = tool_results(model.requests_of("main")[-1])[-2:]
    model.main(call("wait_for_subagent"), say("hello"))
    await bot.say("hello")
    later = tool_results(model.requests_of("main")[-1])[-1]

    assert turn.answer == "It dug."
    assert refused.startswith(f"Error: The store cannot be used: {disk.problem}. Nothing was start")
    assert "\nstate: completed\n" in result
    assert "\na hole\n" in result
    assert UNSAVED in result
    assert UNSAVED not in later
    assert before == [("running",)]
    assert "could not be recorded yet; it goes on in memory" in caplog.text
    assert disk.rows("SELECT state, last_text FROM run") == [("completed", "a hole")]
    assert disk.rows("SELECT name, state FROM run_step") == [("get_weather", "done")] * 2
    assert disk.rows("SELECT seq FROM message ORDER BY seq") == [(seq,) for seq in range(1, 7)]
    assert disk.rows("SELECT state FROM delivery") == [("acknowledged",)]
    assert disk.rows("PRAGMA integrity_check") == [("ok",)]


async def test_many_children_that_end_meanwhile_are_all_written_once(
    bot: Bot, model: Script, disk: Disk, weather: object
) -> None:
    gate = asyncio.Event()
    names = [f"digger{number}" for number in range(3)]
    make = [("create_subagent", {**MAKE[1], "name": name}) for name in names]
    dig = [(f"transfer_to_{name}", DIG_BEHIND[1]) for name in names]
    model.main(calls(*make), calls(*dig), call("wait_for_subagent"), say("They dug."))
    for name in names:
        model.child(name, after(gate, call(*LOOK)), say(f"a hole by {name}"))
    posted = bot.post("dig")
    for name in names:
        await model.reached(name)

    with disk.breaks():
        gate.set()
        await model.reached("main", 4)
        await posted.done()
        ended = disk.rows("SELECT count(*) FROM run WHERE finished_at IS NOT NULL")
    model.main(say("hello"))
    await bot.say("hello")

    assert ended == [(0,)]
    assert disk.rows("SELECT last_text, state FROM run ORDER BY last_text") == [
        (f"a hole by {name}", "completed") for name in names
    ]
    assert disk.rows("SELECT state FROM delivery") == [("acknowledged",)] * len(names)
    assert disk.rows("PRAGMA integrity_check") == [("ok",)]
