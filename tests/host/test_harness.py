"""The harness itself: a real AstrBot takes messages, calls tools and tells how its turns went."""

import asyncio
import copy
from typing import Any

import pytest

from support import sample_plugins
from support.astrbot_host import Bot
from support.astrbot_root import ADMIN
from support.replies import after, broken_call, call, calls, empty, fail, say
from support.script import Script, UnscriptedRequest, said, tool_results
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_a_plain_message_is_answered_and_stored(bot: Bot, model: Script) -> None:
    model.main(say("Hello Alice."))

    turn = await bot.say("hello")

    assert turn.answers == ("Hello Alice.",)
    assert (turn.stopped, turn.cancelled, turn.error, bot.errors) == (False, False, None, [])
    stored = [(each["role"], each["content"]) for each in await bot.history()]
    assert ("assistant", "Hello Alice.") in [(role, _text(content)) for role, content in stored]
    assert "hello" in model.requests_of("main")[0].last_user_text()


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_tool_is_called_in_both_schema_modes_streamed_or_not(
    bot: Bot, model: Script, weather: Any, mode: str, streaming: bool
) -> None:
    await bot.configure(tool_schema_mode=mode, streaming=streaming)
    model.main(call("get_weather", {"city": "Oslo"}), say("Sunny, says the tool, in all Oslo."))

    turn = await bot.say("how is the weather?", sender=ADMIN)

    assert weather.asked == [(ADMIN, True, "Oslo")]
    assert turn.answer == "Sunny, says the tool, in all Oslo."
    assert (len(turn.sent[-1].streamed) > 1) is streaming
    first, second = model.requests_of("main")
    assert "get_weather" in first.tool_names()
    assert ("city" in first.tool_parameters("get_weather")) is (mode == "full")
    assert first.stream is streaming
    assert tool_results(second) == ["It is sunny in Oslo."]
    assert len(model.requeries) == (1 if mode == "skills_like" else 0)


async def test_one_answer_may_call_several_tools(bot: Bot, model: Script, weather: Any) -> None:
    model.main(
        calls(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})), say("done")
    )

    await bot.say("two cities")

    assert weather.asked == [("alice", False, "Oslo"), ("alice", False, "Rome")]


async def test_streaming_can_be_chosen_for_one_message(bot: Bot, model: Script) -> None:
    model.main(say("a text that is long enough for several pieces"), say("whole"))

    streamed = await bot.say("first", streaming=True)
    whole = await bot.say("second")

    assert len(streamed.sent[0].streamed) > 1
    assert "".join(streamed.sent[0].streamed) == streamed.answer
    assert whole.sent[0].streamed == ()


@pytest.mark.parametrize("status", [401, 500])
async def test_a_failure_of_the_provider_ends_the_turn(
    bot: Bot, model: Script, status: int
) -> None:
    model.main(then=fail(status, "no model today"))

    turn = await bot.say("hello")

    assert turn.error is None
    assert "no model today" in turn.answer


async def test_an_empty_answer_ends_the_turn(bot: Bot, model: Script) -> None:
    model.main(then=empty())

    turn = await bot.say("hello")

    assert turn.error is None
    assert model.requests_of("main")


async def test_arguments_that_are_no_json_do_not_end_the_turn(
    bot: Bot, model: Script, weather: Any
) -> None:
    model.main(broken_call("get_weather", '{"city": '), say("I could not."))

    turn = await bot.say("how is the weather?")

    assert turn.answer == "I could not."
    assert weather.asked == []


async def test_two_chats_run_side_by_side(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.role("alice", said("alice here"), after(gate, say("Hi Alice.")))
    model.role("bob", said("bob here"), after(gate, say("Hi Bob.")))

    alice = bot.post("alice here", session="chat_a", sender="alice")
    bob = bot.post("bob here", session="chat_b", sender="bob")
    await model.reached("alice")
    await model.reached("bob")
    assert (alice.sent, bob.sent) == ((), ())
    gate.set()

    assert (await alice.done()).answers == ("Hi Alice.",)
    assert (await bob.done()).answers == ("Hi Bob.",)


async def test_a_group_knows_its_members(bot: Bot, model: Script, weather: Any) -> None:
    model.main(call("get_weather", {"city": "Oslo"}), say("Sunny."))

    turn = await bot.say("weather?", group="group1", sender="bob")

    assert (turn.answer, weather.asked) == ("Sunny.", [("bob", False, "Oslo")])
    assert turn.event.unified_msg_origin == bot.umo(group="group1")
    assert await bot.history(group="group1")


async def test_a_turn_that_was_stopped_says_so(bot: Bot, model: Script, weather: Any) -> None:
    gate = asyncio.Event()
    model.main(call("get_weather", {"city": "Oslo"}), after(gate, say("too late")))
    running = bot.post("weather?")
    await model.reached("main", 2)

    await bot.say("/stop")
    gate.set()  # AstrBot 4.26 ends a stopped turn only when the model has answered.

    turn = await running.done()
    assert turn.stopped
    assert "too late" not in turn.answers


async def test_a_message_of_the_bots_own_accord_is_kept(bot: Bot, weather: Any) -> None:
    await bot.say("/shout")

    assert [each.text for each in await bot.mail()] == ["HEY"]


async def test_settings_go_back_after_a_test(bot: Bot) -> None:
    before = copy.deepcopy(dict(bot.lifecycle.astrbot_config))

    await bot.configure(tool_call_timeout=3, streaming=True, extra={"admins_id": ["carol"]})
    changed = copy.deepcopy(dict(bot.lifecycle.astrbot_config))
    await bot.restore()

    assert changed["admins_id"] == ["carol"]
    assert changed["provider_settings"]["streaming_response"] is True
    assert dict(bot.lifecycle.astrbot_config) == before


async def test_a_short_tool_timeout_is_obeyed(bot: Bot, model: Script) -> None:
    await bot.plugins.add("test_slow", sample_plugins.SLOW)
    await bot.configure(tool_call_timeout=1)
    model.main(call("get_slowly", {"city": "Oslo"}), say("It took too long."))

    turn = await bot.say("weather?")
    await bot.plugins.uninstall("test_slow")

    assert turn.answer == "It took too long."


async def test_an_unplanned_request_is_told_to_the_user_and_to_the_test(
    bot: Bot, model_server: ScriptedModel
) -> None:
    # A script of its own, since the one of the fixture would fail this test when it ends.
    model_server.script = model = Script()

    turn = await bot.say("nobody planned this")

    assert "nobody planned this" in turn.answer
    with pytest.raises(UnscriptedRequest, match="nobody planned this"):
        model.check()


def _text(content: object) -> object:
    return content[0]["text"] if isinstance(content, list) and content else content
