"""The bot owner's own static agents: there from the first request on, late bound, guarded."""

import asyncio
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.astrbot_root import ADMIN
from support.host_agents import admins_only, persona, plugin_config, use_persona
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script, said, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

POET = {"name": "poet", "system_prompt": "Write verse.", "description": "Writes verse."}
RHYME = call("transfer_to_poet", {"input": "Rain."})


def texts(messages: list[dict[str, Any]]) -> str:
    """All that was said, in one text."""
    return "\n".join(str(each.get("content")) for each in messages)


async def test_a_static_agent_is_there_from_the_first_request_and_remembers(
    bot: Bot, model: Script
) -> None:
    model.main(RHYME, say("one"), RHYME, say("two"))
    model.child("poet", say("Drip drop."), say("Drop drip."))

    async with plugin_config(bot, static_agents=[POET]):
        await bot.say("a verse")
        await bot.say("another")

    first, *_ = model.requests_of("main")
    assert "transfer_to_poet" in first.tool_names()
    assert "poet: Writes verse." in first.last_user_text()
    assert "Drip drop." in tool_results(model.requests_of("main")[1])[-1]
    once, again = model.requests_of("poet")
    assert "You are the sub-agent poet.\nWrite verse." in once.system_text()
    assert "Drip drop." in texts(again.messages)
    assert bot.errors == []


async def test_a_static_agent_can_be_used_but_not_changed(bot: Bot, model: Script) -> None:
    model.main(
        calls(
            ("create_subagent", {"name": "Poet", "system_prompt": "x"}),
            ("remove_subagent", {"name": "poet"}),
            ("remove_subagent", {"name": "all"}),
            ("unprotect_subagent", {"name": "poet"}),
            ("reset_subagent", {"name": "poet"}),
            ("list_subagents", {}),
        ),
        say("ok"),
    )

    async with plugin_config(bot, static_agents=[POET]):
        await bot.say("change it")

    last = model.requests_of("main")[1]
    create, remove, _, unprotect, reset, listed = tool_results(last)
    assert all("static" in each for each in (create, remove, unprotect))
    assert not reset.startswith("Error")
    assert "poet (static, protected): Writes verse." in listed
    assert "transfer_to_poet" in last.tool_names()


async def test_other_entries_work_beside_a_broken_one_which_is_told(
    bot: Bot, model: Script, caplog: pytest.LogCaptureFixture
) -> None:
    model.main(say("hello"))

    with caplog.at_level("WARNING"):
        async with plugin_config(bot, static_agents=[{"name": "all"}, POET, {"name": "POET"}]):
            await bot.say("hello")

    (request,) = model.requests_of("main")
    told = [each for each in caplog.messages if "static_agents" in each]
    assert [name for name in request.tool_names() if "transfer" in name] == ["transfer_to_poet"]
    assert ["`static_agents[0].name`" in told[0], "`static_agents[2].name`" in told[1]] == [
        True,
        True,
    ]


async def test_an_agent_for_some_personas_is_there_for_them_only(bot: Bot, model: Script) -> None:
    mine = {**POET, "personas": ["pirate"]}
    model.main(calls(("list_subagents", {}), ("transfer_to_poet", {"input": "x"})), say("no"))
    model.main(RHYME, say("yes"))
    model.child("poet", say("Yo ho."))

    async with plugin_config(bot, static_agents=[mine]), persona(bot, "pirate", "Arr!"):
        await bot.say("hello")
        await use_persona(bot, "pirate")
        await bot.say("hello")

    one, other, mate, _ = model.requests_of("main")
    assert "transfer_to_poet" not in one.tool_names()
    assert "poet" not in tool_results(other)[0]
    assert "not found" in tool_results(other)[1]
    assert "transfer_to_poet" in mate.tool_names()


async def test_the_persona_of_an_agent_counts_as_it_is_when_a_task_starts(
    bot: Bot, model: Script
) -> None:
    model.main(RHYME, say("one"), RHYME, say("two"))
    model.child("poet", call("get_weather", {"city": "Rome"}), say("a"), say("b"))
    entry = {"name": "poet", "persona_id": "bard", "tools": ["get_weather"]}

    async with (
        plugin_config(bot, static_agents=[entry], history_enabled=False),
        persona(bot, "bard", "Sing.", begin_dialogs=["Hi", "Hey"], tools=[]) as name,
    ):
        await bot.say("a song")
        await bot.context.persona_manager.update_persona(name, "Hum.", ["Yo", "Ho"])
        await bot.say("another")

    before, refused, behind = model.requests_of("poet")
    assert "Sing." in before.system_text()
    assert [each["content"] for each in before.messages[1:3]] == ["Hi", "Hey"]
    assert [each["role"] for each in before.messages] == ["system", "user", "assistant", "user"]
    assert set(before.tool_names()) == {"send_shared_context", "ask_question"}
    assert "Tool get_weather not found" in tool_results(refused)[0]
    assert "Hum." in behind.system_text()
    assert "Sing." not in behind.system_text()
    assert [each["content"] for each in behind.messages[1:3]] == ["Yo", "Ho"]


async def test_the_built_in_persona_is_a_persona_too(bot: Bot, model: Script) -> None:
    model.main(RHYME, say("done"))
    model.role("helper", said("Rain."), say("Drip."))

    async with plugin_config(bot, static_agents=[{"name": "poet", "persona_id": "default"}]):
        await bot.say("a verse")

    (request,) = model.requests_of("helper")
    assert "You are a helpful and friendly assistant." in request.system_text()


async def test_a_persona_that_is_not_there_is_told_and_its_task_fails_with_its_name(
    bot: Bot, model: Script, caplog: pytest.LogCaptureFixture
) -> None:
    model.main(RHYME, say("done"))

    with caplog.at_level("WARNING"):
        async with plugin_config(bot, static_agents=[{"name": "poet", "persona_id": "nobody"}]):
            await bot.say("a verse")

    assert "nobody" in tool_results(model.requests_of("main")[1])[0]
    (told,) = [each for each in caplog.messages if "persona_id" in each]
    assert "static agent `poet`" in told
    assert "known: default" in told


@pytest.mark.parametrize("who", ["alice", ADMIN])
async def test_a_tool_that_the_main_agent_has_not_got_is_given_by_name_but_guarded(
    bot: Bot, model: Script, weather: Any, who: str
) -> None:
    forecaster = {**POET, "tools": ["get_weather", "astrbot_execute_shell", "nowhere"]}
    model.main(RHYME, say("done"))
    model.child("poet", call("get_weather", {"city": "Rome"}), say("Sunny."))

    async with (
        plugin_config(bot, static_agents=[forecaster]),
        persona(bot, "narrow", "You are narrow.", tools=[]),
        admins_only("get_weather"),
    ):
        await use_persona(bot, "narrow")
        await bot.say("the weather", sender=who)

    assert "get_weather" not in model.requests_of("main")[0].tool_names()
    offered, answered = model.requests_of("poet")
    assert set(offered.tool_names()) == {
        "get_weather",
        "send_shared_context",
        "ask_question",
    }
    if who == ADMIN:
        assert tool_results(answered) == ["It is sunny in Rome."]
        assert weather.asked == [(ADMIN, True, "Rome")]
    else:
        assert "Permission denied" in tool_results(answered)[0]
        assert weather.asked == []


async def test_a_computer_tool_comes_with_the_runtime_and_obeys_its_own_policy(
    bot: Bot, model: Script
) -> None:
    entry = {**POET, "tools": ["astrbot_execute_shell"]}
    model.main(RHYME, say("done"))
    model.child("poet", call("astrbot_execute_shell", {"command": "echo hi"}), say("no"))

    async with (
        plugin_config(bot, static_agents=[entry]),
        persona(bot, "narrow", "You are narrow.", tools=[]),
    ):
        await bot.configure(extra={"provider_settings": {"computer_use_runtime": "local"}})
        await use_persona(bot, "narrow")
        await bot.say("run it")

    offered, answered = model.requests_of("poet")
    assert "astrbot_execute_shell" in offered.tool_names()
    assert "denied" in tool_results(answered)[0].lower()


async def test_a_task_of_a_static_agent_goes_on_after_a_reload(bot: Bot, model: Script) -> None:
    gate = asyncio.Event()
    model.main(call("transfer_to_poet", {"input": "Rain.", "background_task": True}), say("later"))
    model.main(say("It rains."))
    model.child("poet", after(gate, say("lost")), say("Drip drop."))

    async with plugin_config(bot, static_agents=[POET]):
        await bot.say("a verse")
        await model.reached("poet")
        await bot.plugins.reload()
        with plugin_events(bot) as events:
            run = await events.run_over()
            (mail,) = await bot.mail()
        gate.set()

    assert (run.agent, run.state) == ("poet", "completed")
    assert run.last_text == "Drip drop."
    assert mail.text == "It rains."
