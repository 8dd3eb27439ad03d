"""One job of many parts: serial and parallel, in the foreground and in the background.

The main agent asks one sub-agent and waits, sends two into the background and works on while they
run, waits for both, and hands their results to the first.
"""

import asyncio

import pytest

from standin.protocol import ChatReply, ChatRequest, message_text
from support.astrbot_host import Bot
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PAIR = ("diver", "miner")
RESULTS = ["The diver went 9 m down.", "The miner went 9 m down."]
ANSWER = "They are alike."


def make(name: str) -> tuple[str, dict[str, object]]:
    return "create_subagent", {"name": name, "system_prompt": f"You are the {name}."}


def ask(name: str, task: str, *, behind: bool = False) -> tuple[str, dict[str, object]]:
    return f"transfer_to_{name}", {"input": task, "background_task": behind}


def hand_on(request: ChatRequest) -> ChatReply:
    """Hand both results to the third, as they were found in the reply of the wait."""
    found = tool_results(request)[-1]
    assert [found.count(text) for text in RESULTS] == [1, 1]
    return call(*ask("judge", f"Compare: {' '.join(RESULTS)}"))


def plan(model: Script, gate: asyncio.Event) -> None:
    """Plan the job; the two in the background end when the gate is opened."""
    model.main(
        calls(make("judge"), *map(make, PAIR)),
        call(*ask("judge", "How are depths compared?")),
        calls(*(ask(name, "Measure.", behind=True) for name in PAIR)),
        call(*ask("judge", "Is 9 m much?")),
        call("wait_for_subagent", {"subagent_name": list(PAIR)}),
        hand_on,
        say(ANSWER),
    )
    model.child("judge", say("In metres."), say("It is not."), say("Both are 9 m deep."))
    for name, result in zip(PAIR, RESULTS, strict=True):
        model.child(name, after(gate, say(result)))


async def test_the_main_agent_works_on_while_two_run_then_hands_their_results_to_a_third(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    plan(model, gate)

    with plugin_events(bot) as events:
        running = bot.post("compare the harbour with the mine")
        waiting = await model.reached("main", 5)
        for name in PAIR:
            await model.reached(name)
        gate.set()
        turn = await running.done()
        runs = await events.runs_over(5)
        await events.turns_over(1)

    assert turn.answer == ANSWER
    # the serial part was done, and one more part beside the two that were at work
    assert [text in tool_results(waiting)[-1] for text in ("It is not.", *RESULTS)] == [
        True,
        False,
        False,
    ]
    assert "Both are 9 m deep." in tool_results(model.requests_of("main")[6])[-1]
    handed = message_text(model.requests_of("judge")[2].messages[-1])
    assert [text in handed for text in RESULTS] == [True, True]
    assert {run.state for run in runs} == {"completed"}
    assert [run.agent for run in runs[:2]] == ["judge", "judge"]


async def test_what_was_waited_for_is_brought_by_nobody_else(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    gate.set()
    plan(model, gate)
    model.main(say("Nothing more."))

    with plugin_events(bot) as events:
        await bot.say("compare the harbour with the mine")
        await events.turns_over(1)
        await bot.say("is there more?")
        await events.turns_over(2)

    assert len(model.requests_of("main")) == 8
    asked = model.requests_of("main")[7].last_user_text()
    assert [text in asked for text in RESULTS] == [False, False]
    assert bot.errors == []
