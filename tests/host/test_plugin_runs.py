"""Runs of sub-agents within and across turns of a real AstrBot."""

import asyncio
import re

import pytest

from support.astrbot_host import Bot
from support.plugin_events import plugin_events
from support.replies import after, call, calls, fail, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


def make(name: str) -> tuple[str, dict[str, str]]:
    """A call that makes a sub-agent."""
    return "create_subagent", {"name": name, "system_prompt": f"You are good at {name}ing."}


def task_id(text: str) -> str:
    """The id of the task that a tool's reply names."""
    found = re.search(r"task_id: (\w+)", text)
    assert found, text
    return found[1]


async def test_two_sub_agents_work_in_one_turn(bot: Bot, model: Script) -> None:
    model.main(
        calls(make("reader"), make("writer")),
        calls(("transfer_to_reader", {"input": "Read."}), ("transfer_to_writer", {"input": "W"})),
        say("Both are done."),
    )
    model.child("reader", say("I have read it."))
    model.child("writer", say("I have written it."))

    turn = await bot.say("read and write")

    read, written = tool_results(model.requests_of("main")[2])[2:]
    assert turn.answer == "Both are done."
    assert "I have read it." in read
    assert "I have written it." in written


async def test_background_tasks_run_side_by_side_and_are_waited_for(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    background = {"input": "Go.", "background_task": True}
    model.main(
        calls(make("reader"), make("writer")),
        calls(("transfer_to_reader", background), ("transfer_to_writer", background)),
        call("wait_for_subagent", {"subagent_name": ["reader", "writer"]}),
        say("Collected."),
    )
    model.child("reader", after(gate, say("I have read it.")))
    model.child("writer", after(gate, say("I have written it.")))

    running = bot.post("read and write")
    await model.reached("reader")
    await model.reached("writer")
    await model.reached("main", 3)
    gate.set()
    turn = await running.done()

    waited = tool_results(model.requests_of("main")[3])[-1]
    assert turn.answer == "Collected."
    assert "I have read it." in waited
    assert "I have written it." in waited


async def test_a_task_that_nears_astrbots_limit_goes_on_in_the_background(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    await bot.configure(tool_call_timeout=1)
    model.main(call(*make("reader")), call("transfer_to_reader", {"input": "R"}), say("Later."))
    model.child("reader", after(gate, say("A long story.")))

    turn = await bot.say("read")
    handed_over = tool_results(model.requests_of("main")[2])[1]
    assert turn.answer == "Later."
    assert "goes on in the background" in handed_over
    model.main(call("wait_for_subagent", {"task_id": task_id(handed_over)}), say("There it is."))
    running = bot.post("and now?")
    await model.reached("main", 4)
    gate.set()
    await running.done()

    assert "A long story." in tool_results(model.requests_of("main")[-1])[-1]
    assert bot.errors == []


async def test_a_wait_returns_before_astrbots_limit(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    await bot.configure(tool_call_timeout=1)
    model.main(
        call(*make("reader")),
        call("transfer_to_reader", {"input": "R", "background_task": True}),
        call("wait_for_subagent", {"timeout": 3600}),
        say("Still at work."),
        say("Now it is read."),
    )
    model.child("reader", after(gate, say("At last.")))

    turn = await bot.say("read")
    gate.set()
    await bot.mail()

    waited = tool_results(model.requests_of("main")[3])[-1]
    assert turn.answer == "Still at work."
    assert "timeout after" not in waited
    assert "running" in waited


async def test_a_result_that_nobody_waited_for_wakes_the_main_agent_and_is_told_once(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    await _at_work_in_the_background(bot, model, gate)
    model.main(say("Your story is there."), say("Nothing new."))

    gate.set()
    (mail,) = await bot.mail()
    await bot.say("anything else?")

    first, second = (each.last_user_text() for each in model.requests_of("main")[-2:])
    assert mail.text == "Your story is there."
    assert "The whole story." in first
    assert "The whole story." not in second
    assert "Results that arrived" not in second


async def test_a_result_of_another_user_is_not_handed_over(bot: Bot, model: Script) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    await _at_work_in_the_background(bot, model, gate, group="g_results", sender="alice")
    model.main(after(answer, call("list_subagents")), say("Hello Bob."), say("Here, Alice."))

    with plugin_events(bot) as events:
        running = bot.post("hello", group="g_results", sender="bob")
        await model.reached("main", 4)
        gate.set()
        await events.run_over()
        answer.set()
        await running.done()
        await bot.mail(group="g_results")

    *bobs, alices = (str(each.messages) for each in model.requests_of("main")[3:])
    assert ["The whole story." in each for each in bobs] == [False, False]
    assert "The whole story." in alices


async def test_a_result_that_a_failed_turn_was_handed_comes_again(bot: Bot, model: Script) -> None:
    gate, answer = asyncio.Event(), asyncio.Event()
    await _at_work_in_the_background(bot, model, gate)
    model.main(after(answer, call("list_subagents")), fail(401, "no model today"))
    model.main(say("Your story is there."))

    with plugin_events(bot) as events:
        running = bot.post("is it ready?")
        await model.reached("main", 4)
        gate.set()
        await events.run_over()
        answer.set()
        await running.done()
        (mail,) = await bot.mail()

    failed, again = (each.last_user_text() for each in model.requests_of("main")[4:])
    assert mail.text == "Your story is there."
    assert "The whole story." in failed
    assert "The whole story." in again


async def test_two_chats_never_see_each_others_agents(bot: Bot, model: Script) -> None:
    model.main(
        call(*make("reader")), call("protect_subagent", {"name": "reader"}), say("made"),
        call("list_subagents"), call("transfer_to_reader", {"input": "x"}), say("none here"),
        say("still there"),
    )  # fmt: skip

    await bot.say("make a reader", session="chat_of_alice")
    await bot.say("who is there?", session="chat_of_bob", sender="bob")
    await bot.say("and here?", session="chat_of_alice")

    requests = model.requests_of("main")
    listed, refused = tool_results(requests[5])
    assert "reader" not in listed
    assert "not found" in refused
    assert "transfer_to_reader" not in requests[3].tool_names()
    assert "transfer_to_reader" in requests[6].tool_names()


async def test_a_run_knows_the_chat_the_user_and_the_persona_that_it_came_from(
    bot: Bot, model: Script
) -> None:
    await bot.context.persona_manager.create_persona("pirate", "Arr!")
    where = {"provider_settings": {"default_personality": "pirate"}}
    persona = {"config": {"persona": {"persona_id": "pirate"}}}
    await bot.configure(extra={**where, "agent_runner": persona})
    model.main(call(*make("reader")), call("transfer_to_reader", {"input": "Read."}), say("done"))
    model.child("reader", say("I have read it."))

    with plugin_events(bot) as events:
        await bot.say("read", group="g_origin", sender="bob")
        run = await events.run_over()
    await bot.context.persona_manager.delete_persona("pirate")

    origin = run.origin
    assert (run.owner, origin.sender_id, origin.group_id) == ("bob", "bob", "g_origin")
    assert (origin.adapter, origin.message_type) == ("test", "GroupMessage")
    assert origin.persona_id == "pirate"
    assert "Arr!" in model.requests_of("main")[0].system_text()


async def _at_work_in_the_background(
    bot: Bot, model: Script, gate: asyncio.Event, **who: str
) -> None:
    """Play a turn whose background task goes on until the gate opens."""
    model.main(
        call(*make("teller")),
        call("transfer_to_teller", {"input": "Tell.", "background_task": True}),
        say("It is being told."),
    )
    model.child("teller", after(gate, say("The whole story.")))
    with plugin_events(bot) as events:
        await bot.say("tell me a story", **who)
        await events.turns_over(1, group=who.get("group"))
    await model.reached("teller")
