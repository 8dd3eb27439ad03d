"""A bot that is to share its work does so, or says why it does not, and never takes another's."""

import sys
from pathlib import Path

import pytest

from support import stores
from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.plugin_events import plugin_events
from support.replies import call, say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

SHARE = {"workers": {"enabled": True}}
MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig here."})


async def test_without_a_postgresql_database_it_works_alone_and_says_so(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.reload(config=SHARE)
    dug = await digs(bot, model)
    (line,) = bot.errors
    bot.errors.clear()
    await bot.plugins.reload(config={})

    assert dug
    assert line.startswith("`workers.enabled` needs a PostgreSQL database in `database_url`")
    assert not home_file(bot).exists()


async def test_with_a_database_and_without_the_packages_it_is_off_and_says_what_to_install(
    bot: Bot, model: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    url = "postgresql://bot:hunter2@127.0.0.1:1/db"
    await bot.plugins.reload(config={**SHARE, "database_url": url})
    model.main(say("hello"))
    turn = await bot.say("hello")
    (line,) = bot.errors
    bot.errors.clear()
    await bot.plugins.reload(config={})

    assert turn.answer == "hello"
    assert "create_subagent" not in model.requests_of("main")[-1].tool_names()
    assert line.startswith("The sub-agents are off: ")
    assert "pip install 'procrastinate>=3.10,<4' 'psycopg[binary]>=3.2,<4'" in line
    assert "hunter2" not in line


@pytest.mark.postgres
@stores.needs_server
async def test_a_bot_that_shares_its_work_does_it_all_when_it_is_the_only_one(
    bot: Bot, model: Script, caplog: pytest.LogCaptureFixture
) -> None:
    async with stores.server_schema() as url:
        with caplog.at_level("INFO"):
            await bot.plugins.reload(config={**SHARE, "database_url": url})
        names = [home_file(bot).read_text("utf-8").strip()]
        dug = await digs(bot, model)
        await bot.plugins.reload()
        names.append(home_file(bot).read_text("utf-8").strip())
        dug_again = await digs(bot, model)
        await bot.plugins.reload(config={})
        home_file(bot).unlink()
        schema = url.rpartition("=")[2]
        await stores.on_server(f"DROP SCHEMA {schema}_subagents_jobs CASCADE")

    assert (dug, dug_again) == (True, True)
    assert names[0] == names[1]
    assert f"This process shares the work of its sub-agents as {names[0]}." in caplog.messages
    assert bot.errors == []


async def digs(bot: Bot, model: Script) -> bool:
    """Whether a sub-agent's work comes to the user."""
    model.main(call(*MAKE), call(*DIG), say("dug"))
    model.child("digger", say("a hole"))
    with plugin_events(bot) as events:
        turn = await bot.say("dig")
        await events.runs_over(1)
    return turn.answer == "dug"


def home_file(bot: Bot) -> Path:
    return bot.root.data / "plugin_data" / PLUGIN_NAME / "home"
