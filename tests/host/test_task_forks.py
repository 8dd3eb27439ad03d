"""Forks on a real AstrBot: each begins, letter for letter, with what the main agent was sent."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from standin.protocol import ChatRequest
from support import sample_plugins
from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, calls, say
from support.script import Script, said, tool_results
from support.wire import behind, fields

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGA"
    "hKmMIQAAAABJRU5ErkJggg=="
)
"""A picture of one point, in base64."""

TASK = "Judge what was said so far."
OWN = ',{"role":"user","content":"Judge what was said so far."}'
"""What a fork's first request has more than its main agent's."""
STREAM = ("stream", "stream_options")
"""Children are never streamed."""

NOTES = """
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star
from astrbot.core.agent.message import TextPart

class Notes(Star):
    @filter.on_llm_request(priority=10)
    async def before(self, event: AstrMessageEvent, req):
        req.extra_user_content_parts.append(TextPart(text="It is raining.").mark_as_temp())

    @filter.on_llm_request(priority=-100000)
    async def behind(self, event: AstrMessageEvent, req):
        req.extra_user_content_parts.append(TextPart(text="It is late.").mark_as_temp())
"""

SHRINKING = """
from astrbot.api import ToolSet
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Shrinking(Star):
    @filter.on_llm_request(priority=-100000)
    async def shrink(self, event: AstrMessageEvent, req):
        req.func_tool = ToolSet([each for each in req.func_tool if "protect" not in each.name])
"""
"""It gives the main agent another tool set than the one that our plugin made."""


def fork(task: str = TASK, **more: Any) -> dict[str, Any]:
    return {"task": task, "context": "fork", **more}


def forks(*tasks: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    return "task", {"tasks": list(tasks) or [fork()], **more}


def judged(model: Script) -> ChatRequest:
    """What the only fork was sent."""
    (request,) = model.requests_of("fork")
    return request


@pytest_asyncio.fixture(loop_scope="session")
async def notes(bot: Bot) -> AsyncIterator[None]:
    """A plugin that adds temporary parts to what the user says."""
    await bot.plugins.add("test_notes", NOTES)
    yield
    await bot.plugins.uninstall("test_notes")


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_fork_repeats_a_request_in_either_form_of_tools(
    bot: Bot, model: Script, weather: Any, mode: str, streaming: bool
) -> None:
    await bot.configure(tool_schema_mode=mode, streaming=streaming)
    model.main(call("get_weather", {"city": "Oslo"}), call(*forks()), say("Judged."))
    model.role("fork", said(TASK), say("Well said."))

    turn = await bot.say("what do you think?")

    _, asking, collected = model.requests_of("main")
    assert turn.answer == "Judged."
    assert asking.stream is streaming
    assert behind(judged(model), asking, apart=STREAM if streaming else ()) == OWN
    assert "Well said." in tool_results(collected)[-1]


@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_forks_later_steps_begin_as_its_first(
    bot: Bot, model: Script, weather: Any, mode: str
) -> None:
    await bot.configure(tool_schema_mode=mode)
    model.main(call(*forks(fork(tool_filter="none"))), say("Judged."))
    model.role(
        "fork",
        said(TASK),
        call("get_weather", {"city": "Oslo"}),
        calls(("get_weather", {"city": "Rome"}), ("task", {"task": "deeper"})),
        say("Well said."),
    )

    await bot.say("what do you think?")

    asking, _ = model.requests_of("main")
    first, second, third = model.requests_of("fork")
    assert behind(first, asking) == OWN
    assert '"content":"It is sunny in Oslo."' in behind(second, first)
    assert '"content":"It is sunny in Rome."' in behind(third, second)
    assert [len(weather.asked), tool_results(third)[-1].count("you are a fork")] == [2, 1]


async def test_a_fork_repeats_temporary_parts_which_the_history_does_not_keep(
    bot: Bot, model: Script, notes: None
) -> None:
    model.main(
        calls(
            ("create_subagent", {"name": "scout", "system_prompt": "You look."}),
            ("protect_subagent", {"name": "scout"}),
        ),
        say("Made."),
        call(*forks()),
        say("Judged."),
    )
    model.role("fork", said(TASK), say("Well said."))
    await bot.say("make a scout")

    await bot.say("what do you think?")

    asking = model.requests_of("main")[2]
    assert behind(judged(model), asking) == OWN
    heard = asking.last_user_text()
    assert ["It is raining." in heard, "It is late." in heard, "scout" in heard] == [True] * 3
    assert "It is late." not in str(await bot.history())


async def test_a_fork_sees_the_image_of_the_message(
    bot: Bot, model: Script, tmp_path: Path
) -> None:
    from astrbot.api.message_components import Image

    picture = tmp_path / "point.png"
    picture.write_bytes(base64.b64decode(PIXEL))
    model.main(call(*forks()), say("Judged."))
    model.role("fork", said(TASK), say("A point."))

    running = bot.post("What is this?")
    running.event.message_obj.message.append(Image.fromFileSystem(str(picture)))
    await running.done()

    assert behind(judged(model), model.requests_of("main")[0]) == OWN
    assert "data:image/" in fields(judged(model))["messages"]


async def test_a_fork_repeats_earlier_turns_and_their_tool_calls(
    bot: Bot, model: Script, weather: Any
) -> None:
    model.main(call("get_weather", {"city": "Oslo"}), say("Sunny."), say("You are welcome."))
    model.main(call(*forks()), say("Judged."))
    model.role("fork", said(TASK), say("Well said."))
    await bot.say("how is Oslo?")
    await bot.say("thanks")

    await bot.say("what do you think?")

    asking = model.requests_of("main")[3]
    assert behind(judged(model), asking) == OWN
    assert tool_results(judged(model)) == ["It is sunny in Oslo."]


async def test_a_fork_keeps_the_turns_that_astrbot_lets_its_main_agent_have(
    bot: Bot, model: Script
) -> None:
    turns = {"max_turns": 2, "trim_turns": 1}
    old = {"max_context_length": 2, "dequeue_context_length": 1}
    config = {"compression": turns}
    await bot.configure(extra={"provider_settings": old, "agent_runner": {"config": config}})
    model.main(say("One."), say("Two."), call(*forks(fork(tool_filter="none"))), say("Judged."))
    model.role("fork", said(TASK), call("view_shared_context"), say("Well said."))
    await bot.say("first")
    await bot.say("second")

    await bot.say("third")

    asking = model.requests_of("main")[2]
    first, second = model.requests_of("fork")
    assert behind(first, asking) == OWN
    assert "you are a fork" in behind(second, first)


async def test_several_forks_of_a_call_begin_alike(bot: Bot, model: Script) -> None:
    names = [f"part {number}" for number in range(4)]
    model.main(call(*forks(*(fork(f"Judge {name}.") for name in names))), say("Judged."))
    for name in names:
        model.role(name, said(f"Judge {name}."), say(f"I read {name}."))

    await bot.say("what do you think?")

    asking, collected = model.requests_of("main")
    (reply,) = tool_results(collected)
    for name in names:
        (forked,) = model.requests_of(name)
        assert behind(forked, asking) == OWN.replace(TASK, f"Judge {name}.")
        assert f"I read {name}." in reply


async def test_a_fork_that_starts_after_the_turn_begins_as_the_others(
    bot: Bot, model: Script, weather: Any, notes: None
) -> None:
    gate = asyncio.Event()
    tasks = ({"id": "slow", "task": "Count."}, fork(depends_on=["slow"], tool_filter="none"))
    model.main(call(*forks(*tasks, background_task=True)), say("It runs."), say("Judged."))
    model.role("slow", said("Count."), after(gate, say("I counted to 9.")))
    model.role("fork", said(TASK), call("get_weather", {"city": "Oslo"}), say("Well said."))

    turn = await bot.say("what do you think?")
    gate.set()
    await bot.mail()

    first, second = model.requests_of("fork")
    own = behind(first, model.requests_of("main")[0])
    assert turn.answer == "It runs."
    assert "I counted to 9." in own
    assert TASK in own
    assert "It is sunny in Oslo." in behind(second, first)


async def test_a_fork_lists_the_tools_that_came_earlier_in_its_turn(
    bot: Bot, model: Script
) -> None:
    scout = {"name": "scout", "system_prompt": "You look."}
    model.main(call("create_subagent", scout), call(*forks()), say("Judged."))
    model.role("fork", said(TASK), say("Well said."))

    await bot.say("what do you think?")

    assert behind(judged(model), model.requests_of("main")[1]) == OWN
    assert "transfer_to_scout" in judged(model).tool_names()


@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_fork_does_not_list_a_tool_that_came_beside_its_own_call(
    bot: Bot, model: Script, mode: str
) -> None:
    await bot.configure(tool_schema_mode=mode)
    scout = {"name": "scout", "system_prompt": "You look."}
    model.main(calls(("create_subagent", scout), forks()), say("Judged."))
    model.role("fork", said(TASK), say("Well said."))

    await bot.say("what do you think?")

    asking, collected = model.requests_of("main")
    assert behind(judged(model), asking) == OWN
    assert "transfer_to_scout" in collected.tool_names()


async def test_a_fork_lists_what_another_plugin_left_to_the_main_agent(
    bot: Bot, model: Script
) -> None:
    await bot.plugins.add("test_shrinking", SHRINKING)
    model.main(call(*forks()), say("Judged."))
    model.role("fork", said(TASK), say("Well said."))

    await bot.say("what do you think?")
    await bot.plugins.uninstall("test_shrinking")

    assert behind(judged(model), model.requests_of("main")[0]) == OWN
    assert "protect_subagent" not in judged(model).tool_names()


async def test_a_fork_lists_a_tool_that_was_switched_off_since_it_was_sent(
    bot: Bot, model: Script, weather: Any
) -> None:
    gate = asyncio.Event()
    model.main(after(gate, call(*forks(fork(tool_filter="none")))), say("Judged."))
    model.role("fork", said(TASK), call("get_weather", {"city": "Oslo"}), say("Well said."))

    running = bot.post("what do you think?")
    await model.reached("main")
    tool = bot.context.get_llm_tool_manager().get_func("get_weather")
    tool.active = False
    gate.set()
    await running.done()
    tool.active = True

    first, second = model.requests_of("fork")
    assert behind(first, model.requests_of("main")[0]) == OWN
    assert "`get_weather` was not run" in tool_results(second)[0]
    assert weather.asked == []


@pytest.mark.parametrize(
    ("picked", "is_named"),
    [
        ({"selected_provider": "cheap"}, "cheap-model"),
        ({"selected_provider": "cheap", "selected_model": "picked-model"}, "picked-model"),
        ({"selected_model": "picked-model"}, "picked-model"),
    ],
)
async def test_a_fork_has_the_model_that_the_user_picked_also_when_the_turn_is_over(
    bot: Bot, model: Script, cheap: None, picked: dict[str, str], is_named: str
) -> None:
    gate, late = asyncio.Event(), "Judge it later."
    tasks = ({"id": "slow", "task": "Count."}, fork(), fork(late, depends_on=["slow"]))
    model.main(call(*forks(*tasks, background_task=True)), say("It runs."), say("Judged."))
    model.role("late", said(late), say("Well said again."))
    model.role("fork", said(TASK), say("Well said."))
    model.role("slow", said("Count."), after(gate, say("Nine.")))

    running = bot.post("what do you think?")
    for key, value in picked.items():
        # as the adapter of AstrBot's WebUI does
        running.event.set_extra(key, value)
    await running.done()
    gate.set()
    await bot.mail()

    asking, (later,) = model.requests_of("main")[0], model.requests_of("late")
    assert behind(judged(model), asking) == OWN
    assert late in behind(later, asking)
    assert (judged(model).model, later.model) == (is_named, is_named)


@pytest_asyncio.fixture(loop_scope="session")
async def cheap(bot: Bot) -> AsyncIterator[None]:
    """A second chat model, `cheap-model` of the provider `cheap`."""
    manager, first = bot.context.provider_manager, bot.context.get_provider_by_id("scripted")
    settings = {**first.provider_config, "id": "cheap", "model": "cheap-model"}
    manager.inst_map["cheap"] = type(first)(settings, first.provider_settings)
    manager.provider_insts.append(manager.inst_map["cheap"])
    yield
    manager.provider_insts.remove(manager.inst_map["cheap"])
    await manager.inst_map.pop("cheap").terminate()


async def test_a_fork_stays_with_its_main_agents_model_whatever_children_have(
    bot: Bot, model: Script, cheap: None
) -> None:
    model.main(call("task", {"tasks": [fork(), {"task": "Count."}]}), say("Judged."))
    model.role("fork", said(TASK), say("Well said."))
    model.role("fresh", said("Count."), say("Nine."))

    async with plugin_config(bot, dynamic_agents={"default_provider_id": "cheap"}):
        await bot.say("what do you think?")

    assert behind(judged(model), model.requests_of("main")[0]) == OWN
    assert [model.requests_of(each)[0].model for each in ("fork", "fresh")] == [
        "scripted-model",
        "cheap-model",
    ]


async def test_a_fork_goes_on_from_where_it_was_when_the_plugin_is_reloaded(
    bot: Bot, model: Script, weather: Any, notes: None
) -> None:
    await bot.plugins.add("test_slow", sample_plugins.SLOW)
    model.main(call(*forks(fork(tool_filter="none"))), say("It goes on."), say("Judged."))
    model.role(
        "fork",
        said(TASK),
        call("get_weather", {"city": "Oslo"}),
        call("get_slowly", {"city": "Rome"}),
        call("get_weather", {"city": "Bonn"}),
        say("Well said."),
    )

    with plugin_events(bot) as events:
        running = bot.post("what do you think?")
        await events.first(lambda each: getattr(each, "name", "") == "get_slowly")
    await bot.plugins.reload()
    turn = await running.done()
    await bot.mail()
    await bot.plugins.uninstall("test_slow")

    first, second, third, fourth = model.requests_of("fork")
    assert turn.answer == "It goes on."
    assert behind(first, model.requests_of("main")[0]) == OWN
    assert "It is sunny in Oslo." in behind(second, first)
    assert "get_slowly" in behind(third, second)
    assert "outcome unknown" in behind(third, second)
    assert "It is sunny in Bonn." in behind(fourth, third)
    assert [city for *_, city in weather.asked] == ["Oslo", "Bonn"]
