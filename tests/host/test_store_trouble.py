"""A locked or damaged store: users get their answers, and the plugin comes back by itself."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from filelock import FileLock

from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.replies import after, call, say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
KEEP = ("protect_subagent", {"name": "digger"})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})
SOON_SECONDS = 5.0
"""Half of the time for which the store itself would wait for a lock."""


@pytest_asyncio.fixture(loop_scope="session")
async def file(bot: Bot) -> AsyncIterator[Path]:
    """The plugin's store; what a test made of it is thrown away."""
    (file,) = (bot.root.data / "plugin_data" / PLUGIN_NAME).glob("*.sqlite3")
    yield file
    bot.errors.clear()
    await bot.plugins.disable()
    for each in file.parent.glob(f"{file.name}*"):
        if each.suffix != ".lock":
            each.unlink()
    await bot.plugins.enable()


@contextmanager
def being_written(file: Path) -> Iterator[None]:
    """Let another program write to the store all the while."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def damage(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(statement).rowcount >= 1


async def is_on(bot: Bot, model: Script, *, session: str = "other") -> bool:
    # a wake-up may come in between
    model.main(then=say("hello"))
    turn = await bot.say("hello", session=session)
    assert turn.answer == "hello"
    return "create_subagent" in model.requests_of("main")[-1].tool_names()


async def test_new_chats_are_answered_while_another_program_writes_to_the_store(
    bot: Bot, model: Script, file: Path
) -> None:
    model.main(then=say("hello"))
    await bot.say("warm up")

    with being_written(file):
        began = time.monotonic()
        posted = [bot.post("hello", session=f"locked{number}") for number in range(5)]
        turns = [await each.done() for each in posted]
        took = time.monotonic() - began

    assert [turn.answer for turn in turns] == ["hello"] * 5
    assert took < SOON_SECONDS
    assert bot.errors == []


async def test_a_result_comes_at_once_though_its_end_cannot_be_stored(
    bot: Bot, model: Script, file: Path
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call("transfer_to_digger", {"input": "Dig."}), say("dug"))
    model.child("digger", after(gate, say("a hole")))
    posted = bot.post("dig")
    await model.reached("digger")

    with being_written(file):
        began = time.monotonic()
        gate.set()
        await model.reached("main", 3)
        took = time.monotonic() - began
    turn = await posted.done()

    assert turn.answer == "dug"
    assert took < SOON_SECONDS


@pytest.mark.parametrize("how", ["in_use", "being_written"])
async def test_a_plugin_whose_store_was_locked_at_the_start_comes_on_by_itself(
    bot: Bot, model: Script, file: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG_BEHIND), say("It digs."))
    model.child("digger", after(gate, say("too early")), then=say("dug after all"))
    await bot.say("dig")
    await model.reached("digger")
    await bot.plugins.disable()
    gate.set()
    lock = FileLock(f"{file}.lock") if how == "in_use" else being_written(file)

    with caplog.at_level("INFO"):
        with lock:
            await bot.plugins.enable()
            off = not await is_on(bot, model)
        told = list(bot.errors)
        model.main(say("There it is."))
        (mail,) = await bot.mail()

    assert off
    assert "The sub-agents are on" in caplog.text
    assert [line.split(":")[0] for line in told] == ["The sub-agents are off"]
    assert "tried again by itself" in told[0]
    assert mail.text == "There it is."
    assert "dug after all" in model.requests_of("main")[-1].last_user_text()


async def test_a_plugin_that_still_tries_can_be_disabled_and_enabled(
    bot: Bot, model: Script, file: Path
) -> None:
    await bot.plugins.disable()
    with FileLock(f"{file}.lock"):
        await bot.plugins.enable()
        await bot.plugins.disable()
        names = {task.get_name() for task in asyncio.all_tasks()}
    await bot.plugins.enable()

    assert "Opening the store again" not in names
    assert await is_on(bot, model)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE subagent SET tools = '{'",
        "UPDATE run SET origin = 'x'",
        "UPDATE run SET created_at = 'x'",
        "UPDATE run SET started_at = 'x'",
    ],
)
async def test_a_damaged_row_leaves_every_chat_its_sub_agents(
    bot: Bot, model: Script, file: Path, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*KEEP), call(*DIG_BEHIND), say("It digs."))
    model.child("digger", after(gate, say("dug")), then=say("dug"))
    await bot.say("dig")
    await model.reached("digger")
    await bot.plugins.disable()
    gate.set()

    damage(file, statement)
    await bot.plugins.enable()

    assert await is_on(bot, model)
    assert await is_on(bot, model, session=bot.session)
    assert "is set aside, untouched" in caplog.text
