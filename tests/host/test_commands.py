"""`/subagents` in a real AstrBot: what each verb shows and does."""

import asyncio
import re
from typing import Any

import pytest

from standin.protocol import message_text
from support import chat_commands
from support.astrbot_host import Bot
from support.chat_commands import DIG, MAKE, VERBS, asked, configured, digging, dug, told_id
from support.plugin_events import plugin_events
from support.replies import after, call, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

relayed = chat_commands.relayed


# ---- reading


async def test_an_empty_chat_says_so_and_asks_no_model(bot: Bot, model: Script) -> None:
    assert await asked(bot, "/subagents") == "There are no sub-agents and no tasks here now."
    assert model.requests_of("main") == []


async def test_the_list_shows_agents_and_tasks_under_way(bot: Bot, model: Script) -> None:
    async with digging(bot, model) as task_id:
        listed = await asked(bot, "/subagents")
        named = await asked(bot, "/subagents  LIST ")

    assert listed.splitlines() == [
        "Sub-agents:",
        "digger (made in this chat): tasks: 1",
        "Tasks under way:",
        f"[{task_id}] digger: at work, steps: 0",
    ]
    assert named == listed


async def test_help_lists_the_verbs(bot: Bot) -> None:
    lines = (await asked(bot, "/subagents help")).splitlines()

    assert [line.split()[1] for line in lines] == VERBS.split(", ")[:-1]


async def test_an_agent_is_shown_with_its_newest_tasks(bot: Bot, model: Script) -> None:
    task_id = await dug(bot, model)

    shown = await asked(bot, "/subagents show Digger")

    assert shown.splitlines() == [
        "digger (made in this chat, protected): idle",
        f"[{task_id}] digger: done, steps: 1",
    ]


async def test_a_task_is_shown_with_its_words_and_its_messages(bot: Bot, model: Script) -> None:
    task_id = await dug(bot, model)

    shown = await asked(bot, f"/subagents show {task_id}")
    log = await asked(bot, f"/subagents log {task_id}")

    assert shown.splitlines()[:2] == [f"[{task_id}] digger: done, steps: 1", "Task: Dig the well."]
    assert shown.splitlines()[-1] == "The well is 7 m deep."
    assert "[user] Dig the well." in log
    assert log.splitlines()[-1] == "[assistant] The well is 7 m deep."


async def test_a_static_agent_is_there_before_the_first_turn_and_stays(bot: Bot) -> None:
    clerk = {"name": "clerk", "system_prompt": "You file."}

    async with configured(bot, static_agents=[clerk]):
        listed = await asked(bot, "/subagents")
        shown = await asked(bot, "/subagents show CLERK")
        removed = await asked(bot, "/subagents remove clerk")

    assert listed.splitlines()[1:] == ["clerk (from the bot's settings, protected): idle"]
    assert shown == listed.splitlines()[1]
    assert removed == "clerk comes from the bot's settings and is changed only there."


async def test_a_long_list_is_cut_and_says_how_much_is_left_out(bot: Bot) -> None:
    clerks = [{"name": f"clerk{number}", "system_prompt": "You file."} for number in range(25)]

    async with configured(bot, static_agents=clerks):
        lines = (await asked(bot, "/subagents list")).splitlines()

    assert len(lines) == 22
    assert lines[-1] == "Not shown: 5 more."


# ---- doing


async def test_a_task_is_stopped_by_its_id(bot: Bot, model: Script) -> None:
    async with digging(bot, model) as task_id:
        stopped = await asked(bot, f"/subagents stop {task_id}")
        again = await asked(bot, f"/subagents stop {task_id}")

    assert stopped.splitlines() == [
        "Stopped tasks: 1.",
        f"[{task_id}] digger: stopped, steps: 0",
    ]
    assert again == f"Task {task_id} is already over."


@pytest.mark.parametrize("wanted", ["digger", "DIGGER", "all", "All"])
async def test_work_is_stopped_by_the_name_of_an_agent_or_all_at_once(
    bot: Bot, model: Script, wanted: str
) -> None:
    async with digging(bot, model) as task_id:
        stopped = await asked(bot, f"/subagents stop {wanted}")

    assert stopped.splitlines()[0] == "Stopped tasks: 1."
    assert task_id in stopped


async def test_where_nothing_is_under_way_nothing_is_stopped(bot: Bot, model: Script) -> None:
    await dug(bot, model)

    for wanted in ("all", "digger"):
        assert await asked(bot, f"/subagents stop {wanted}") == "There is nothing to stop."


async def test_a_task_is_steered_at_its_next_step(bot: Bot, model: Script, weather: Any) -> None:
    gate = asyncio.Event()
    made = {**MAKE[1], "tools": ["get_weather"]}
    model.main(call(MAKE[0], made), call(*DIG), say("It digs."))
    model.child("digger", after(gate, call("get_weather", {"city": "Oslo"})), say("Dug."))
    with plugin_events(bot) as events:
        await bot.say("please dig a well")
        await model.reached("digger")
        task_id = told_id(model)

        told = await asked(bot, f"/subagents steer  {task_id}   look behind\nthe shed ")
        gate.set()
        await events.run_over()

    assert told == f"Task {task_id} will read this at its next step."
    assert "look behind\nthe shed" in message_text(model.requests_of("digger")[1].messages[-1])
    late = await asked(bot, f"/subagents steer {task_id} and now?")
    assert late == f"Task {task_id} is already over."


async def test_a_question_is_answered(bot: Bot, model: Script) -> None:
    model.main(call(*MAKE), call(*DIG), say("It digs."))
    model.child("digger", call("ask_question", {"question": "Where?"}), say("Dug."))
    with plugin_events(bot) as events:
        await bot.say("please dig a well")
        (mail,) = await bot.mail()
        task_id = re.findall(r"answer (\S+) <", mail.text)[0]
        shown = await asked(bot, f"/subagents show {task_id}")
        told = await asked(bot, f"/subagents answer {task_id} behind the shed")
        await events.run_over()
    again = await asked(bot, f"/subagents answer {task_id} or before it")

    assert mail.text.startswith(f"digger asks (task {task_id}): Where?")
    assert "It asks: Where?" in shown
    assert told == "Thank you, digger goes on with your answer."
    assert "behind the shed" in tool_results(model.requests_of("digger")[-1])[-1]
    assert again == f"Task {task_id} waits for no answer. Open questions: -."


async def test_a_task_is_done_once_more(bot: Bot, model: Script) -> None:
    task_id = await dug(bot, model)
    model.child("digger", say("The well is 8 m deep."))

    with plugin_events(bot) as events:
        told = await asked(bot, f"/subagents retry {task_id}")
        again = await events.run_over()

    assert told == f"Started once more as task {again.run_id}."
    assert (again.run_id != task_id, again.input) == (True, "Dig the well.")
    assert again.last_text == "The well is 8 m deep."


async def test_a_task_under_way_is_not_done_once_more(bot: Bot, model: Script) -> None:
    async with digging(bot, model) as task_id:
        told = await asked(bot, f"/subagents retry {task_id}")

    assert told == f"Task {task_id} is not over yet."


async def test_an_agent_is_removed_unless_it_is_kept_or_at_work(bot: Bot, model: Script) -> None:
    async with digging(bot, model) as task_id:
        busy = await asked(bot, "/subagents remove digger")
        await asked(bot, "/subagents stop all")
        removed = await asked(bot, "/subagents remove DIGGER")
        gone = await asked(bot, "/subagents remove digger")
    await dug(bot, model)
    kept = await asked(bot, "/subagents remove digger")

    assert busy == f"digger is at work ({task_id}). Please wait or stop it first."
    assert removed == "digger was removed."
    assert gone == "There is no sub-agent named digger. There are: -."
    assert kept == "digger is protected and stays."


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("memory off", "Sub-agents here start each task without memories from now on."),
        ("memory ON", "Sub-agents here remember their earlier tasks from now on."),
        ("board off", "Sub-agents here share no notes from now on."),
        ("board on", "Sub-agents here share notes from now on."),
    ],
)
async def test_memory_and_board_are_switched(bot: Bot, line: str, told: str) -> None:
    assert await asked(bot, f"/subagents {line}") == told


async def test_a_switched_off_memory_is_not_loaded(bot: Bot, model: Script) -> None:
    task_id = await dug(bot, model)
    model.child("digger", say("Again."))

    await asked(bot, "/subagents memory off")
    with plugin_events(bot) as events:
        await asked(bot, f"/subagents retry {task_id}")
        await events.run_over()

    assert "7 m deep" not in str(model.requests_of("digger")[-1].messages)
