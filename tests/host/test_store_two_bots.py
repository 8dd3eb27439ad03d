"""Two processes that want the same SQLite file: one has it, the other says so and does not run."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.replies import after, call, say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

TESTS = Path(__file__).parents[1]
OPEN = """
import asyncio, sys
from astrbot_plugin_subagents.manager.store import SqlStore

async def use():
    store = SqlStore(sys.argv[1])
    await store.open()
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(use())
"""
"""What a second bot does first."""
MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig."})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig.", "background_task": True})


@pytest_asyncio.fixture(loop_scope="session")
async def file(bot: Bot) -> AsyncIterator[Path]:
    """The plugin's store; what a test made of it is thrown away."""
    (file,) = (bot.root.data / "plugin_data" / PLUGIN_NAME).glob("*.sqlite3")
    yield file
    await bot.plugins.disable()
    for each in file.parent.glob(f"{file.name}*"):
        if each.suffix != ".lock":
            each.unlink()
    await bot.plugins.enable()


@asynccontextmanager
async def another_process(file: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that opens the store as a bot does; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OPEN,
        str(file),
        cwd=TESTS,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def the_tool(bot: Bot, *arguments: str) -> tuple[int | None, str]:
    """What the store's tool in the bot's plugin folder says, and its exit code."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(bot.root.plugins / PLUGIN_NAME / "store_tool.py"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_a_bot_whose_store_another_process_has_says_so_and_comes_on_when_that_is_gone(
    bot: Bot, model: Script, file: Path
) -> None:
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG_BEHIND), say("It digs."), say("hello"))
    model.child("digger", after(gate, say("too early")), then=say("a hole"))
    await bot.say("dig")
    await model.reached("digger")
    await bot.plugins.disable()
    gate.set()

    async with asyncio.timeout(30), another_process(file) as other:
        assert other.stdout is not None
        assert await other.stdout.readline() == b"open\n"
        await bot.plugins.enable()
        told = list(bot.errors)
        bot.errors.clear()
        await bot.say("hello")
        offered = model.requests_of("main")[-1].tool_names()
        asked = len(model.requests_of("digger"))
        model.main(say("There it is."))
        other.kill()
        (mail,) = await bot.mail()

    assert [line.split(":")[0] for line in told] == ["The sub-agents are off"]
    assert f"Another process uses the store {file}." in told[0]
    assert "Stop the other bot" in told[0]
    assert [name for name in offered if "subagent" in name] == []
    assert asked == 1
    assert mail.text == "There it is."
    assert "a hole" in model.requests_of("main")[-1].last_user_text()


async def test_a_second_process_is_refused_while_the_bot_works_and_changes_nothing(
    bot: Bot, model: Script, file: Path
) -> None:
    model.main(call(*MAKE), call(*DIG), say("dug"))
    model.child("digger", say("a hole"))
    await bot.say("dig")

    async with asyncio.timeout(30), another_process(file) as other:
        _, said = await other.communicate()
        looked, report = await the_tool(bot, "doctor", str(file))
        code, text = await the_tool(bot, "vacuum", str(file))

    assert other.returncode == 1
    assert b"StoreLocked" in said.splitlines()[-1]
    assert (looked, report.splitlines()[-1]) == (0, "Nothing is wrong.")
    assert (code, text.splitlines()[-1].endswith("Stop the bot first.")) == (3, True)
