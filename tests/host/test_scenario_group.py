"""A group chat: members with work of their own at the same time, and an admin."""

import asyncio
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.astrbot_root import ADMIN
from support.host_agents import admins_only, plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

GROUP = "g_scenario"


def make(name: str, *tools: str) -> tuple[str, dict[str, Any]]:
    arguments = {"name": name, "system_prompt": f"You are the {name}.", "tools": list(tools)}
    return "create_subagent", arguments


def give(name: str, *, behind: bool = False) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Go on.", "background_task": behind}


def stop(name: str) -> tuple[str, dict[str, Any]]:
    return "cancel_subagent_task", {"subagent_name": name}


def last_results(model: Script, count: int) -> list[str]:
    return tool_results(model.requests_of("main")[-1])[-count:]


async def test_members_work_at_once_and_stop_their_own_and_an_admin_stops_all(
    bot: Bot, model: Script
) -> None:
    gate = asyncio.Event()
    for name in ("digger", "writer"):
        model.child(name, then=after(gate, say("done")))

    with plugin_events(bot) as events:
        for sender, name in (("alice", "digger"), ("bob", "writer")):
            model.main(call(*make(name)), call(*give(name, behind=True)), say("At work."))
            await bot.say("go", group=GROUP, sender=sender)
            await model.reached(name)
        model.main(calls(stop("digger"), stop("writer")), say("Mine is stopped."))
        await bot.say("end my work", group=GROUP, sender="bob")
        of_another, of_ones_own = last_results(model, 2)
        bobs = await events.run_over()
        model.main(call(*make("writer")), call(*give("writer", behind=True)), say("At work again."))
        await bot.say("again", group=GROUP, sender="bob")
        await model.reached("writer", 2)
        model.main(call("list_subagents"), calls(stop("digger"), stop("writer")), say("Quiet."))
        await bot.say("end all work", group=GROUP, sender=ADMIN)
        ended = await events.runs_over(3)
    model.main(then=say("So I see."))
    for sender in ("alice", "bob"):
        await bot.say("what came of it?", group=GROUP, sender=sender)
    gate.set()

    assert "belongs to another user" in of_another
    assert "state: cancelled" in of_ones_own
    assert (bobs.owner, bobs.agent, bobs.state) == ("bob", "writer", "cancelled")
    assert {(run.owner, run.agent, run.state) for run in ended[1:]} == {
        ("alice", "digger", "cancelled"),
        ("bob", "writer", "cancelled"),
    }
    to_alice, to_bob = (request.last_user_text() for request in model.requests_of("main")[-2:])
    assert (to_alice.count("state: cancelled"), to_bob.count("state: cancelled")) == (1, 1)
    assert "sub-agent: digger" in to_alice
    assert "sub-agent: writer" in to_bob


async def test_a_members_agent_in_an_admins_turn_stays_a_members(
    bot: Bot, model: Script, weather: Any
) -> None:
    ask = call("get_weather", {"city": "Oslo"})
    model.main(call(*make("scout", "get_weather")), call("protect_subagent", {"name": "scout"}))
    model.main(say("There is a scout."), call(*give("scout")), say("It may not."))
    model.main(call(*make("envoy", "get_weather")), call(*give("envoy")), say("That one may."))
    for name in ("scout", "envoy"):
        model.child(name, ask, say("I have asked."))

    async with admins_only("get_weather"):
        await bot.say("make a scout", group=GROUP, sender="alice")
        await bot.say("use it", group=GROUP, sender=ADMIN)
        of_member = tool_results(model.requests_of("scout")[-1])[-1]
        assert weather.asked == []
        await bot.say("make your own", group=GROUP, sender=ADMIN)

    assert "Permission denied" in of_member
    assert "It is sunny in Oslo." in tool_results(model.requests_of("envoy")[-1])[-1]
    assert weather.asked == [(ADMIN, True, "Oslo")]


async def test_a_member_who_uses_an_admins_agent_has_no_more_rights_and_leaves_its_mark(
    bot: Bot, model: Script, weather: Any
) -> None:
    ask = call("get_weather", {"city": "Oslo"})
    model.main(call(*make("envoy", "get_weather")), call("protect_subagent", {"name": "envoy"}))
    model.main(say("There is an envoy."))
    model.main(*(each for _ in range(3) for each in (call(*give("envoy")), say("Asked."))))
    model.main(call("reset_subagent", {"name": "envoy"}), call(*give("envoy")), say("Asked."))
    model.child("envoy", *(each for _ in range(4) for each in (ask, say("I have asked."))))

    async with admins_only("get_weather"):
        await bot.say("make an envoy", group=GROUP, sender=ADMIN)
        for sender in (ADMIN, "alice", ADMIN):
            await bot.say("use it", group=GROUP, sender=sender)
        before = list(weather.asked)
        await bot.say("begin anew", group=GROUP, sender=ADMIN)

    assert before == [(ADMIN, True, "Oslo")]
    assert weather.asked == [(ADMIN, True, "Oslo")] * 2


async def test_what_a_member_told_a_static_agent_binds_it_until_an_admin_resets_it(
    bot: Bot, model: Script, weather: Any
) -> None:
    clerk = {"name": "clerk", "system_prompt": "You look.", "tools": ["get_weather"]}
    ask = call("get_weather", {"city": "Oslo"})
    model.main(*(each for _ in range(3) for each in (call(*give("clerk")), say("Asked."))))
    model.main(call("reset_subagent", {"name": "clerk"}), call(*give("clerk")), say("Asked."))
    model.child("clerk", *(each for _ in range(4) for each in (ask, say("I have asked."))))

    async with admins_only("get_weather"), plugin_config(bot, static_agents=[clerk]):
        for sender in (ADMIN, "alice", ADMIN):
            await bot.say("use it", group=GROUP, sender=sender)
        before = list(weather.asked)
        await bot.say("begin anew", group=GROUP, sender=ADMIN)

    assert before == [(ADMIN, True, "Oslo")]
    assert weather.asked == [(ADMIN, True, "Oslo")] * 2
