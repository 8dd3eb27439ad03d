"""The harness itself: a script gives each asker the answers planned for it, without AstrBot."""

import asyncio

import pytest

from standin.protocol import ChatReply, ChatRequest
from support.replies import after, call, say
from support.script import Script, UnscriptedRequest, said

MAIN = "You are a helpful and friendly assistant. There are: writer, reader."


def _asks(system: str, user: str, *tools: str) -> ChatRequest:
    return ChatRequest(
        model="m",
        messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
        tools=[{"type": "function", "function": {"name": each}} for each in tools],
        stream=False,
        raw=b"",
    )


async def test_each_asker_gets_its_own_answers() -> None:
    script = Script()
    script.role("fork", said("copy of the main agent"), say("fork"))
    script.main(say("main"))
    script.child("reader", say("reader"))
    script.child("writer", say("writer"))

    replies = [
        await script(_asks(MAIN, "copy of the main agent", "create_subagent")),
        await script(_asks("Your own text.", "hello", "create_subagent")),
        await script(_asks("You are writer. Write what reader found.", "go")),
        await script(_asks("You are reader. Read for writer.", "go")),
    ]

    assert [each.text for each in replies] == ["fork", "main", "writer", "reader"]
    assert [each.last_user_text() for each in script.requests_of("fork")] == [
        "copy of the main agent"
    ]
    script.check()


async def test_a_name_inside_another_word_is_no_mention() -> None:
    script = Script()
    script.child("read", say("wrong"))

    await script(_asks("You are reader, use transfer_to_read.", "go"))

    with pytest.raises(UnscriptedRequest, match="unknown asker"):
        script.check()


async def test_answers_come_in_order_and_the_last_one_may_stay() -> None:
    script = Script()
    script.main(say("1"), lambda request: say(request.last_user_text()), then=say("and so on"))

    texts = [(await script(_asks(MAIN, str(number)))).text for number in range(4)]

    assert texts == ["1", "1", "and so on", "and so on"]
    assert script.unused() == {}


async def test_an_answer_too_few_and_an_answer_too_many_are_told() -> None:
    script = Script()
    script.main(say("only one"))
    script.child("reader", say("never asked"), say("never asked either"))

    await script(_asks(MAIN, "first"))
    await script(_asks(MAIN, "second"))

    assert script.unused() == {"reader": 2}
    with pytest.raises(UnscriptedRequest, match=r"no answer left.*second"):
        script.check()


async def test_a_step_that_fails_is_told_to_the_test() -> None:
    def fail_in_step(_: ChatRequest) -> ChatReply:
        raise ValueError("wrong expectation")

    script = Script()
    script.main(fail_in_step)

    with pytest.raises(ValueError, match="wrong expectation"):
        await script(_asks(MAIN, "go"))
    with pytest.raises(UnscriptedRequest, match="wrong expectation"):
        script.check()


async def test_a_gate_holds_an_answer_and_the_test_sees_who_waits() -> None:
    gate = asyncio.Event()
    script = Script()
    script.child("reader", after(gate, say("done")))
    running = asyncio.create_task(script(_asks("You are reader.", "go")))

    await script.reached("reader")
    assert not running.done()
    gate.set()
    await script.idle()

    assert (await running).text == "done"


async def test_a_second_question_about_a_call_gets_the_same_call() -> None:
    question = "You have decided to call tool(s): look_up. Now call the tool(s) with arguments."
    script = Script()
    script.child("reader", call("look_up", {"word": "a"}), say("found"))
    first = await script(_asks("You are reader.", "go", "look_up"))

    in_system = await script(_asks(f"You are reader.\n{question}", "go", "look_up"))
    again = _asks("You are reader.", "go", "look_up")
    again.messages.append({"role": "user", "content": question})
    in_user = await script(again)

    assert in_system == in_user == first
    assert (len(script.requeries), len(script.requests_of("reader"))) == (2, 1)
