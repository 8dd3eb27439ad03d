"""Questions of sub-agents: they reach whoever can answer, and the work goes on with the answer."""

import asyncio
import re
from typing import Any

import pytest

from standin.protocol import ChatReply, ChatRequest, message_text
from support.astrbot_host import Bot, PendingTurn
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

GROUP = "g_questions"
ASK = call("ask_question", {"question": "How deep?", "options": ["3 m", "7 m"]})


def make(name: str) -> tuple[str, dict[str, Any]]:
    return "create_subagent", {"name": name, "system_prompt": f"You are the {name}."}


def give(name: str, *, behind: bool) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Go on.", "background_task": behind}


def answer_what_is_asked(request: ChatRequest) -> ChatReply:
    """Answer the task that the last tool result names."""
    found = re.search(r"task_id: (\w+)", tool_results(request)[-1])
    assert found
    return call("answer_subagent", {"task_id": found[1], "answer": "7 m, please."})


def the_answer(model: Script, name: str = "digger") -> str:
    """What the sub-agent's newest request says that it was answered."""
    return tool_results(model.requests_of(name)[-1])[-1]


async def asked_after_the_turn(
    bot: Bot, model: Script, *names: str, **where: Any
) -> dict[str, str]:
    """Play a turn whose sub-agents ask something after it; the ids of their tasks."""
    gate = asyncio.Event()
    model.main(calls(*map(make, names)), calls(*(give(name, behind=True) for name in names)))
    model.main(say("At work."))
    for name in names:
        model.child(name, after(gate, ASK), say(f"The {name} is done."))
    with plugin_events(bot) as events:
        group = where.get("group")
        await bot.say("dig a hole", **where)
        await events.turns_over(1, group=group)
        gate.set()
        mail = await bot.mail(len(names), group=group)
    found = (re.match(r"(\w+) asks \(task (\w+)\): How deep\?", each.text) for each in mail)
    return {each[1]: each[2] for each in found if each}


async def test_a_transfer_returns_with_the_question_and_the_answer_lets_it_go_on(
    bot: Bot, model: Script
) -> None:
    model.main(call(*make("digger")), call(*give("digger", behind=False)))
    model.main(answer_what_is_asked, call("wait_for_subagent", {"subagent_name": "digger"}))
    model.main(say("It is dug."))
    model.child("digger", ASK, say("The hole is 7 m deep."))

    turn = await bot.say("dig a hole")

    asked = tool_results(model.requests_of("main")[2])[-1]
    waited = tool_results(model.requests_of("main")[-1])[-1]
    assert turn.answer == "It is dug."
    assert "How deep?" in asked
    assert "7 m" in asked
    assert "7 m, please." in the_answer(model)
    assert "The hole is 7 m deep." in waited
    assert bot.errors == []


async def test_a_question_in_a_running_turn_is_in_its_next_request_and_not_kept(
    bot: Bot, model: Script
) -> None:
    gate, go_on = asyncio.Event(), asyncio.Event()
    model.main(call(*make("digger")), call(*give("digger", behind=True)))
    model.main(after(go_on, call("list_subagents")), say("How deep shall it be?"))
    model.child("digger", after(gate, ASK), say("It is dug."))

    with plugin_events(bot) as events:
        running = bot.post("dig a hole")
        await model.reached("main", 3)
        gate.set()
        await events.first(_waits)
        go_on.set()
        await running.done()
        request = model.requests_of("main")[3]
        history = await bot.history()
        await bot.say("/stop")

    assert "How deep?" in message_text(request.messages[-1])
    assert "options" not in "".join(map(message_text, history))
    assert "task_id" not in message_text(history[-1])


@pytest.mark.parametrize("group", [None, GROUP])
async def test_a_reply_that_quotes_the_question_answers_it(
    bot: Bot, model: Script, group: str | None
) -> None:
    tasks = await asked_after_the_turn(bot, model, "digger", "miner", group=group)
    questions = await bot.mail(2, group=group)
    wanted = next(each.text for each in questions if tasks["miner"] in each.text)

    with plugin_events(bot) as events:
        model.main(say("The mine is ready."))
        turn = await quote(bot, "5 m", wanted, group=group).done()
        run = await events.run_over()
        await events.turns_over(1, group=group)
        await bot.say("/stop", group=group)

    assert turn.answers == ("Thank you, miner goes on with your answer.",)
    assert run.agent == "miner"
    assert "5 m" in the_answer(model, "miner")
    assert len(model.requests_of("digger")) == 1


async def test_a_quote_by_another_member_answers_nothing(bot: Bot, model: Script) -> None:
    group = f"{GROUP}_2"
    await asked_after_the_turn(bot, model, "digger", group=group)
    (question,) = await bot.mail(group=group)
    model.main(say("Hello Bob."))

    turn = await quote(bot, "5 m", question.text, group=group, sender="bob").done()
    await bot.say("/stop", group=group)

    assert turn.answer == "Hello Bob."
    assert len(model.requests_of("digger")) == 1


async def test_a_bare_message_answers_the_only_question_of_a_private_chat(
    bot: Bot, model: Script
) -> None:
    await asked_after_the_turn(bot, model, "digger")
    model.main(say("It is dug."))

    with plugin_events(bot) as events:
        turn = await bot.say("make it 9 m")
        await events.run_over()
        await events.turns_over(1)

    assert turn.answers == ("Thank you, digger goes on with your answer.",)
    assert "make it 9 m" in the_answer(model)
    # the model was asked for the wake-up alone
    assert "The digger is done." in model.requests_of("main")[3].last_user_text()
    assert [each.text for each in await bot.mail(2)][-1] == "It is dug."


@pytest.mark.parametrize(
    ("names", "text", "group"),
    [
        (["digger"], "make it 9 m", f"{GROUP}_3"),
        (["digger", "miner"], "make it 9 m", None),
        (["digger"], "/sid", None),
    ],
)
async def test_a_bare_message_that_may_mean_something_else_is_no_answer(
    bot: Bot, model: Script, names: list[str], text: str, group: str | None
) -> None:
    bot.session += str(len(names)) + text[:2].strip("/")
    await asked_after_the_turn(bot, model, *names, group=group)
    model.main(say("What is 9 m?"))

    turn = await bot.say(text, group=group)
    await bot.say("/stop", group=group)

    assert "goes on with your answer" not in "".join(turn.answers)
    assert turn.answer == "What is 9 m?" or text == "/sid"
    assert [len(model.requests_of(name)) for name in names] == [1] * len(names)


async def test_a_question_may_stay_open_longer_than_astrbot_lets_a_tool_take(
    bot: Bot, model: Script
) -> None:
    await bot.configure(tool_call_timeout=1)
    await asked_after_the_turn(bot, model, "digger")
    model.main(say("It is dug."))

    with plugin_events(bot) as events:
        # longer than the limit; the child's model would be asked again if it had struck
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await model.reached("digger", 2)
        await bot.say("7 m")
        await events.run_over()
        await events.turns_over(1)

    assert "7 m" in the_answer(model)
    assert "timeout" not in the_answer(model)


APPROVAL = """
import asyncio

from astrbot.api import FunctionTool
from astrbot.api.event import MessageChain
from astrbot.api.star import Star
from astrbot.core.utils.session_waiter import session_waiter

class Blast(FunctionTool):
    def __init__(self, star):
        super().__init__(
            name="blast",
            description="Blast the rock, once the user has approved of it.",
            parameters={"type": "object", "properties": {}},
        )
        self.star = star

    async def call(self, context):
        event = context.context.event
        words = []

        @session_waiter(timeout=30)
        async def on_answer(controller, answer):
            words.append(answer.message_str)
            controller.stop()

        asking = asyncio.create_task(on_answer(event))
        await event.send(MessageChain().message("May I blast?"))
        self.star.asked.set()
        await asking
        return f"The user said: {words[0]}"

class Approvals(Star):
    async def initialize(self):
        self.asked = asyncio.Event()
        self.context.add_llm_tools(Blast(self))
"""
"""A tool that asks its user for approval and takes the next message of the chat for the answer."""


@pytest.mark.parametrize("behind", [True, False])
async def test_the_approval_that_a_tool_in_a_sub_agent_asks_for_reaches_the_user(
    bot: Bot, model: Script, behind: bool
) -> None:
    approvals = await bot.plugins.add("test_approvals", APPROVAL)
    arguments = {"name": "digger", "system_prompt": "Dig.", "tools": ["blast"]}
    model.main(call("create_subagent", arguments), call(*give("digger", behind=behind)))
    model.main(*[say("It digs.")] * behind, say("It is blasted."))
    model.child("digger", call("blast"), say("Boom."))

    with plugin_events(bot) as events:
        running = bot.post("dig a hole")
        if behind:
            await running.done()
        await approvals.asked.wait()
        await bot.say("yes, do it")
        run = await events.run_over()
        turn = await running.done()
        await events.turns_over(1 + behind)
    await bot.plugins.uninstall("test_approvals")

    texts = [*turn.answers, *([each.text for each in await bot.mail()] if behind else [])]
    assert run.state == "completed"
    assert the_answer(model) == "The user said: yes, do it"
    assert "May I blast?" in texts
    assert texts[-1] == "It is blasted."


def quote(bot: Bot, text: str, quoted: str, **how: Any) -> PendingTurn:
    """Post a reply that quotes a message of the bot."""
    from astrbot.api.message_components import Reply

    pending = bot.post(text, **how)
    reply = Reply(id="1", sender_id="the_bot", sender_nickname="bot", message_str=quoted)
    pending.event.message_obj.message.insert(0, reply)
    return pending


def _waits(happened: Any) -> bool:
    return type(happened).__name__ == "RunChanged" and happened.run.state == "waiting"
