"""The tool `task` on a real AstrBot: copies, forks, named agents, dependencies."""

import asyncio

import pytest

from support.astrbot_host import Bot
from support.replies import after, call, calls, say
from support.script import Script, said, tool_results
from support.wire import behind

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_several_tasks_of_one_call_run_side_by_side(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    tasks = [{"id": name, "task": f"Read the {name} chapter."} for name in ("first", "second")]
    model.main(call("task", {"tasks": tasks}), say("Both are read."))
    for name in ("first", "second"):
        model.role(name, said(f"Read the {name} chapter."), after(gate, say(f"It is {name}.")))

    running = bot.post("read the chapters")
    await model.reached("first")
    await model.reached("second")
    gate.set()
    turn = await running.done()

    (reply,) = tool_results(model.requests_of("main")[1])
    assert turn.answer == "Both are read."
    assert reply.index("It is first.") < reply.index("It is second.")
    assert "2 of 2 tasks completed." in reply


async def test_a_fork_begins_with_what_the_main_agent_was_sent(bot: Bot, model: Script) -> None:
    fork = {"task": "Judge what was said so far.", "context": "fork"}
    model.main(
        call("list_subagents"),
        call("task", {"tasks": [fork]}),
        say("Judged."),
    )
    model.role("fork", said("Judge what was said so far."), say("It was well said."))

    turn = await bot.say("what do you think?")

    _, asking, collected = model.requests_of("main")
    (forked,) = model.requests_of("fork")
    assert turn.answer == "Judged."
    assert behind(forked, asking) == ',{"role":"user","content":"Judge what was said so far."}'
    assert "It was well said." in tool_results(collected)[-1]


async def test_a_fork_is_refused_what_forks_may_not_do(bot: Bot, model: Script) -> None:
    fork = {"task": "Split this further.", "context": "fork", "tool_filter": "none"}
    model.main(call("task", {"tasks": [fork]}), say("Done."))
    model.role(
        "fork",
        said("Split this further."),
        calls(("task", {"task": "deeper"}), ("create_subagent", {"name": "x"})),
        say("I did it myself."),
    )

    turn = await bot.say("go")

    refused = tool_results(model.requests_of("fork")[1])
    assert turn.answer == "Done."
    assert ["you are a fork" in each for each in refused] == [True, True]


async def test_a_task_gets_the_results_of_those_it_depends_on(bot: Bot, model: Script) -> None:
    model.main(
        call("create_subagent", {"name": "writer", "system_prompt": "You write well."}),
        call(
            "task",
            {
                "tasks": [
                    {"id": "read", "task": "Read the book."},
                    {"id": "write", "task": "Sum it up.", "agent": "writer", "depends_on": "read"},
                ]
            },
        ),
        say("Summed up."),
    )
    model.role("reader", said("Read the book."), say("A whale wins."))
    model.child("writer", say("Whale: 1, man: 0."))

    turn = await bot.say("sum up the book")

    prompt = model.requests_of("writer")[0].last_user_text()
    assert turn.answer == "Summed up."
    assert prompt.index("A whale wins.") < prompt.index("Sum it up.")
    assert "2 of 2 tasks completed." in tool_results(model.requests_of("main")[2])[-1]
