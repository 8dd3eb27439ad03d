"""`/subagents` in a real AstrBot: bad input, rights in a group, languages, switched off, broken."""

import importlib
from typing import Any

import pytest
from filelock import FileLock

from support import chat_commands
from support.astrbot_host import Bot
from support.astrbot_root import ADMIN, PLUGIN_NAME
from support.chat_commands import RELAY, VERBS, asked, configured, digging, dug
from support.replies import say
from support.script import Script

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

relayed = chat_commands.relayed

GROUP = "g_commands"
REFUSED = "That is only for the user it belongs to and for admins of the bot."
OFF = "The sub-agents are switched off at the moment."


# ---- bad input


@pytest.mark.parametrize("verb", ["show", "log", "stop", "steer", "answer", "retry", "remove"])
async def test_a_verb_without_what_it_needs_says_how_it_is_written(bot: Bot, verb: str) -> None:
    assert (await asked(bot, f"/subagents {verb}")).startswith(f"Please write: /subagents {verb} <")


@pytest.mark.parametrize("line", ["steer t7", "answer t7", "memory", "memory perhaps", "board of"])
async def test_half_a_command_says_how_it_is_written(bot: Bot, line: str) -> None:
    answer = await asked(bot, f"/subagents {line}")

    assert answer.startswith(f"Please write: /subagents {line.split()[0]} ")


@pytest.mark.parametrize("space", ["   ", "\n", "\t", "\u3000"])
async def test_words_are_parted_by_spaces_of_any_kind(bot: Bot, space: str) -> None:
    answer = await asked(bot, f"/subagents{space}steer{space}t9{space}go on")

    assert answer.startswith("There is no task t9 here.")


@pytest.mark.parametrize("verb", ["lst", "стоп", "停止", "{verb}", "../..", "x" * 500])
async def test_an_unknown_verb_names_those_that_there_are(bot: Bot, verb: str) -> None:
    answer = await asked(bot, f"/subagents {verb} all")

    assert verb[:60] in answer
    assert VERBS in answer
    assert len(answer) < 300


@pytest.mark.parametrize("verb", ["show", "stop"])
@pytest.mark.parametrize("name", ["nobody", "{name}", "a b c", "'; drop table run; --", "木", "ß"])
async def test_a_name_that_nothing_has_is_told_as_such(bot: Bot, verb: str, name: str) -> None:
    answer = await asked(bot, f"/subagents {verb} {name}")

    assert name in answer
    assert "/subagents" in answer


@pytest.mark.parametrize("line", ["log t9", "steer t9 go on", "answer t9 yes", "retry t9"])
async def test_a_task_that_there_is_not_is_told_as_such(bot: Bot, line: str) -> None:
    answer = await asked(bot, f"/subagents {line}")

    assert answer == "There is no task t9 here. /subagents lists those under way."


async def test_a_very_long_name_makes_no_long_answer(bot: Bot) -> None:
    for verb in ("show", "log", "stop", "retry", "remove"):
        assert len(await asked(bot, f"/subagents {verb} {'x' * 5_000}")) < 600


async def test_a_task_of_another_chat_is_not_there(bot: Bot, model: Script) -> None:
    task_id = await dug(bot, model)

    for line in (f"show {task_id}", f"log {task_id}", f"stop {task_id}", f"retry {task_id}"):
        answer = await asked(bot, f"/subagents {line}", session="elsewhere", sender=ADMIN)
        assert "7 m deep" not in answer
        assert answer.startswith(("There is no task", "No sub-agent and no task"))


# ---- a group


async def test_in_a_group_all_see_names_and_states_and_only_an_admin_anothers_words(
    bot: Bot, model: Script
) -> None:
    group: dict[str, Any] = {"group": f"{GROUP}_rights"}
    async with digging(bot, model, **group, sender="alice") as task_id:
        seen = [
            await asked(bot, f"/subagents {line}", **group, sender="bob")
            for line in ("list", "show digger")
        ]
        refused = [
            await asked(bot, f"/subagents {line}", **group, sender="bob")
            for line in (
                f"show {task_id}",
                f"log {task_id}",
                f"stop {task_id}",
                "stop digger",
                f"steer {task_id} dig elsewhere",
                f"answer {task_id} yes",
                f"retry {task_id}",
                "remove digger",
                "memory off",
                "board off",
            )
        ]
        nothing = await asked(bot, "/subagents stop all", **group, sender="bob")
        shown = await asked(bot, f"/subagents show {task_id}", **group, sender=ADMIN)
        own = await asked(bot, f"/subagents show {task_id}", **group, sender="alice")
        steered = await asked(bot, f"/subagents steer {task_id} hurry", **group, sender=ADMIN)
        switched = await asked(bot, "/subagents board off", **group, sender=ADMIN)
        stopped = await asked(bot, "/subagents stop all", **group, sender=ADMIN)

    assert all("digger" in each and task_id in each and "well" not in each for each in seen)
    assert refused == [REFUSED] * 10
    assert nothing == "There is nothing to stop."
    assert shown == own
    assert "Task: Dig the well." in shown
    assert steered == f"Task {task_id} will read this at its next step."
    assert switched == "Sub-agents here share no notes from now on."
    assert stopped.splitlines()[0] == "Stopped tasks: 1."


async def test_in_a_group_everyone_stops_their_own(bot: Bot, model: Script) -> None:
    group: dict[str, Any] = {"group": f"{GROUP}_own"}
    async with digging(bot, model, **group, sender="alice") as task_id:
        stopped = await asked(bot, "/subagents stop digger", **group, sender="alice")

    assert f"[{task_id}] digger: stopped" in stopped


# ---- languages


@pytest.mark.parametrize(
    ("greeting", "nothing", "unknown"),
    [
        ("how do you do?", "There are no sub-agents and no tasks here now.", "No sub-agent"),
        ("你好，最近怎么样", "目前没有子代理，也没有进行中的任务。", "这里没有名为"),  # noqa: RUF001
        ("привет, как дела", "Сейчас здесь нет ни субагентов, ни задач.", "Здесь нет ни"),
    ],
)
async def test_a_chat_is_answered_in_its_language(
    bot: Bot, model: Script, greeting: str, nothing: str, unknown: str
) -> None:
    model.main(say("..."))
    await bot.say(greeting)

    assert await asked(bot, "/subagents") == nothing
    assert (await asked(bot, "/subagents show the old well")).startswith(unknown)
    assert await asked(bot, "/subagents") == nothing


async def test_the_language_that_is_set_counts(bot: Bot, model: Script) -> None:
    async with configured(bot, language="ru-RU"):
        nothing = await asked(bot, "/subagents")
        unknown = await asked(bot, "/subagents stop 水井")

    assert nothing == "Сейчас здесь нет ни субагентов, ни задач."
    assert unknown.startswith("Здесь нет ни субагента, ни задачи 水井.")


# ---- switched off


async def test_while_the_plugin_is_switched_off_nothing_is_done(bot: Bot, model: Script) -> None:
    task_id = await dug(bot, model)

    async with configured(bot, enabled=False):
        for line in ("", "list", f"show {task_id}", f"retry {task_id}", "memory off"):
            answer = await asked(bot, f"/subagents {line}")
            assert answer == OFF
    assert "7 m deep" in await asked(bot, f"/subagents show {task_id}")


async def test_a_chat_whose_profile_leaves_the_plugin_out_has_no_such_command(
    bot: Bot, model: Script
) -> None:
    await bot.configure(extra={"plugin_set": ["some_other_plugin"]})
    model.main(say("What do you mean?"))

    turn = await bot.say("/subagents")

    assert turn.answer == "What do you mean?"


async def test_while_the_store_is_used_by_another_the_chat_is_told_so_and_no_model_asked(
    bot: Bot, model: Script
) -> None:
    (file,) = (bot.root.data / "plugin_data" / PLUGIN_NAME).glob("*.sqlite3")
    await bot.plugins.disable()
    with FileLock(f"{file}.lock"):
        await bot.plugins.enable()
        bot.errors.clear()
        answer = await asked(bot, "/subagents stop all")
    await bot.plugins.reload(config=RELAY)

    assert answer == OFF
    assert await asked(bot, "/subagents stop all") == "There is nothing to stop."


# ---- broken


async def test_a_fault_is_told_without_its_words_and_logged_with_its_cause(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"data.plugins.{PLUGIN_NAME}.plugin.static_agents")

    def broken(_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(module.StaticAgents, "all", broken)
    turn = await bot.say("/subagents stop all")

    assert turn.answers == (
        "That did not work because of a fault in the plugin. The bot's log has the details.",
    )
    assert "The command 'stop all' failed" in bot.errors[0]
    assert "ZeroDivisionError" in bot.errors[0]
