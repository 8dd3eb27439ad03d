# ruff: noqa: RUF001 - texts in Chinese and Russian are meant
"""The stand-in in turns that no person began, and work for which nobody waits."""

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Turn
from astrbot_plugin_subagents.manager.models import StepState
from astrbot_plugin_subagents.manager.prompts import time_note
from astrbot_plugin_subagents.manager.runs.resume import answered_note, resume_note
from astrbot_plugin_subagents.manager.testing import EPOCH, Say, says
from standin.turn import WOKEN
from support import core, stores
from support.standin_host import Host

make_core = core.make_core

ROOT = Path(__file__).resolve().parents[2]
BROUGHT = f"{WOKEN}Background tasks are over: protect. This message is not from the user."
RESTARTED = f"{WOKEN}The bot was restarted in the middle of its work. Go on, and answer the user."
QUESTION = "How do I protect a sub-agent"
OTHER = "what happens when a run times out"
FOUND = f"Findings for: {QUESTION}\n> Call `protect_subagent`.\nsource: docs/guide.md#Protecting"


async def has_done(it: core.Core, turn: Turn) -> None:
    """Have a sub-agent end a task in the background."""
    await it.create("protect", turn)
    reply = await it.call("transfer_to_protect", turn, input=QUESTION, background_task=True)
    await it.until_over(core.task_id(reply))


async def brought(make_core: core.MakeCore, result: str) -> str:
    """What the plugin puts beside its message when a task has ended with this result."""
    it = await make_core(says(Say(text=result)))
    turn = await it.turn()
    await has_done(it, turn)
    await it.end(turn)
    return await it.notes(await it.turn())


async def cut_off(make_core: core.MakeCore, message: str, result: str = "") -> str:
    """What it puts there when the bot was killed over a message and has this result, or none."""
    it = await make_core(says(Say(text=result)))
    turn = await it.turn()
    turn.message = message
    if result:
        await has_done(it, turn)
    else:
        await it.create("protect", turn)
    await core.settled()
    after = await make_core(store=it.store, clock=it.clock, executor="process2")
    return await after.notes(await after.turn())


def test_the_plugin_wakes_the_main_agent_in_these_words() -> None:
    assert f'"{WOKEN}' in (ROOT / "plugin/messenger.py").read_text("utf-8")


async def test_a_wake_up_tells_what_was_found(make_core: core.MakeCore) -> None:
    host = Host()

    answer = await host.ask(BROUGHT, await brought(make_core, FOUND))

    assert host.calls == []
    assert f"**{QUESTION}**\n> Call `protect_subagent`.\n\nsource: docs/guide.md#Prot" in answer


async def test_a_wake_up_without_quotes_tells_the_result_as_it_is(make_core: core.MakeCore) -> None:
    host = Host()

    answer = await host.ask(BROUGHT, await brought(make_core, "It is green."))

    assert host.calls == []
    assert "It is green." in answer
    assert "Sub-agents that exist now" not in answer


async def test_a_message_that_was_cut_off_is_answered_with_what_was_there(
    make_core: core.MakeCore,
) -> None:
    host = Host()

    answer = await host.ask(RESTARTED, await cut_off(make_core, QUESTION, FOUND))

    assert host.calls == []
    assert answer.startswith("The bot was restarted while I was at this.")
    assert "source: docs/guide.md#Protecting" in answer


async def test_what_was_cut_off_before_it_was_done_is_done_now(make_core: core.MakeCore) -> None:
    host = Host()

    answer = await host.ask(RESTARTED, await cut_off(make_core, f"{QUESTION}, and {OTHER}", FOUND))

    assert [each["input"] for each in host.named("transfer")] == [OTHER]
    assert answer.index("#Time") < answer.index("#Protecting")


@pytest.mark.parametrize(
    ("message", "begins"),
    [
        ("如何保护子代理？", "处理这条消息时机器人重启了"),
        ("Как защитить субагента?", "Бот был перезапущен"),
    ],
)
async def test_who_was_cut_off_is_answered_in_their_language(
    make_core: core.MakeCore, message: str, begins: str
) -> None:
    answer = await Host().ask(RESTARTED, await cut_off(make_core, message))

    assert answer.startswith(begins)
    assert "#Protecting" in answer


async def test_a_sub_agent_that_was_cut_off_goes_on_with_its_task() -> None:
    step = stores.a_step(stores.a_run(), state=StepState.INTENT)
    notes = (time_note(EPOCH), resume_note([step], []), answered_note("Which one?", None))

    answer = await Host().turn(
        [{"role": "user", "content": each} for each in (QUESTION, *notes)], main=False
    )

    assert answer.startswith(f"Findings for: {QUESTION}\n")


async def test_what_arrived_by_itself_is_not_looked_up_again(make_core: core.MakeCore) -> None:
    host = Host()

    answer = await host.ask(QUESTION, await brought(make_core, FOUND))

    assert host.calls == []
    assert answer.count("#Protecting") == 1


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        (f"In the background: {QUESTION}?", "Still running: t0."),
        ("后台：如何保护子代理？", "仍在运行：t0。"),
        ("В фоне: Как защитить субагента?", "Ещё выполняется: t0."),
    ],
)
async def test_work_in_the_background_is_not_waited_for(question: str, answered: str) -> None:
    host = Host()

    answer = await host.ask(question)

    assert [name for name, _ in host.calls] == ["create_subagent", "transfer_to_protect"]
    assert host.named("transfer")[0]["background_task"] is True
    assert answered in answer


async def test_many_questions_in_the_background_are_one_call_that_returns_at_once() -> None:
    host = Host(offers="task")

    await host.ask(f"In the background: {QUESTION}, {OTHER}, and where is memory kept?")

    (asked,) = host.named("task")
    assert asked["background_task"] is True
    assert [each.get("agent_type") for each in asked["tasks"]] == [None, None, None]
    assert host.named("wait") == []


async def test_a_wake_up_right_behind_a_message_is_no_note_to_it(make_core: core.MakeCore) -> None:
    host = Host()
    note = await brought(make_core, FOUND)
    parts = [{"type": "text", "text": each} for each in (BROUGHT, note)]
    stopped = {"role": "user", "content": OTHER}

    answer = await host.turn([stopped, {"role": "user", "content": parts}], main=True)

    assert host.calls == []
    assert "#Protecting" in answer


async def test_a_task_whose_result_came_meanwhile_is_not_told_as_running() -> None:
    tasks = [{"id": "a", "task": QUESTION}, {"id": "b", "task": OTHER}]
    call = {"name": "task", "arguments": json.dumps({"tasks": tasks})}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"In the background: {QUESTION}, and {OTHER}"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "group_id: g0\ntask_id: t0 | running"},
        {"role": "user", "content": f"[Sub-agents: news; not from the user]\n{FOUND}"},
    ]

    answer = await Host(offers="task").turn(messages, main=True)

    assert f"**{OTHER}**\nStill running: g0." in answer
    assert answer.count(f"**{QUESTION}**") == 1
    assert "#Protecting" in answer
