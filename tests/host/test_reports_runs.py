"""What users of such systems reported about runs of sub-agents, played on a real AstrBot."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from standin.protocol import Usage
from support.astrbot_host import Bot
from support.astrbot_root import MODEL
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import call, calls, fail, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

APPROVER = """
import asyncio

from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Approver(Star):
    async def initialize(self):
        self.asked = []

    @filter.on_using_llm_tool()
    async def ask(self, event: AstrMessageEvent, tool, arguments):
        if tool.name == "get_weather":
            self.asked.append(tool.name)
            await asyncio.Event().wait()
"""


def make(name: str = "scout", **more: Any) -> tuple[str, dict[str, Any]]:
    return "create_subagent", {"name": name, "system_prompt": "You look.", **more}


def give(name: str = "scout") -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Look."}


@pytest_asyncio.fixture(loop_scope="session")
async def cheap(bot: Bot) -> AsyncIterator[Any]:
    """A second chat model, `cheap-model` of the provider `cheap`; a function takes it away."""
    instances = bot.context.provider_manager.inst_map
    first = bot.context.get_provider_by_id("scripted")
    settings = {**first.provider_config, "id": "cheap", "model": "cheap-model"}
    instances["cheap"] = type(first)(settings, first.provider_settings)
    bot.context.provider_manager.provider_insts.append(instances["cheap"])
    yield instances["cheap"]
    bot.context.provider_manager.provider_insts.remove(instances["cheap"])
    await instances.pop("cheap").terminate()


async def test_all_sub_agents_may_have_one_model_and_one_of_them_its_own(
    bot: Bot, model: Script, cheap: Any
) -> None:
    model.main(calls(make("a"), make("b", provider_id="scripted")), calls(give("a"), give("b")))
    model.main(say("done"))
    for name in ("a", "b"):
        model.child(name, say("I looked."))

    async with plugin_config(bot, dynamic_agents={"default_provider_id": "cheap"}):
        await bot.say("look")

    assert {request.model for request in model.requests_of("main")} == {MODEL}
    assert [request.model for request in model.requests_of("a")] == ["cheap-model"]
    assert [request.model for request in model.requests_of("b")] == [MODEL]


async def test_a_dead_model_is_named_and_no_other_one_takes_its_place(
    bot: Bot, model: Script, cheap: Any
) -> None:
    model.main(call(*make(provider_id="cheap")), call(*give()), say("It is dead."))
    model.child("scout", fail(401, "this key has expired"))

    await bot.say("look")

    told = tool_results(model.requests_of("main")[2])[-1]
    assert "state: FAILED" in told
    assert "cheap-model" in told
    assert "this key has expired" in told
    assert {request.model for request in model.requests_of("scout")} == {"cheap-model"}


async def test_a_model_that_went_is_named_when_the_task_starts(
    bot: Bot, model: Script, cheap: Any
) -> None:
    model.main(call(*make(provider_id="cheap")), call("protect_subagent", {"name": "scout"}))
    model.main(say("made"), call(*give()), say("It is gone."))
    await bot.say("make one")
    instances = bot.context.provider_manager.inst_map

    gone = instances.pop("cheap")
    bot.context.provider_manager.provider_insts.remove(gone)
    await bot.say("use it")
    instances["cheap"] = gone
    bot.context.provider_manager.provider_insts.append(gone)

    told = tool_results(model.requests_of("main")[-1])[-1]
    assert "state: FAILED" in told
    assert "'cheap'" in told
    assert model.requests_of("scout") == []


async def test_the_tokens_of_a_child_are_counted_and_told(
    bot: Bot, model: Script, weather: Any
) -> None:
    model.main(call(*make(tools=["get_weather"])), call(*give()), say("done"))
    first = Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=60)
    second = Usage(prompt_tokens=150, completion_tokens=5)
    look = call("get_weather", {"city": "Oslo"})
    model.child("scout", type(look)(tool_calls=look.tool_calls, usage=first))
    model.child("scout", say("Sunny.", usage=second))

    with plugin_events(bot) as events:
        await bot.say("look")
        run = await events.run_over()

    assert (run.usage.input, run.usage.cached, run.usage.output) == (190, 60, 25)
    told = tool_results(model.requests_of("main")[2])[-1]
    assert "2 model calls; 190 tokens in, 60 cached, 25 out" in told


async def test_a_childs_budget_of_tokens_stops_it_with_what_it_had(
    bot: Bot, model: Script, weather: Any
) -> None:
    look = call("get_weather", {"city": "Oslo"}, text="I look at the sky.")
    costly = type(look)(
        text=look.text,
        tool_calls=look.tool_calls,
        usage=Usage(prompt_tokens=900, completion_tokens=200),
    )
    model.main(call(*make(tools=["get_weather"])), call(*give()), say("done"))
    model.child("scout", then=costly)

    async with plugin_config(bot, token_budget_per_run=1000):
        await bot.say("look")

    told = tool_results(model.requests_of("main")[2])[-1]
    assert "[token_budget]" in told
    assert "I look at the sky." in told
    assert len(model.requests_of("scout")) == 1


async def test_an_approval_that_nobody_gives_does_not_hang_the_parent(
    bot: Bot, model: Script, weather: Any
) -> None:
    approver = await bot.plugins.add("test_approver", APPROVER)
    model.main(call(*make(tools=["get_weather"])), call(*give()), say("It was not allowed."))
    model.child("scout", call("get_weather", {"city": "Oslo"}, text="I ask for leave."))

    async with plugin_config(bot, execution_timeout=1):
        turn = await bot.say("look")
    await bot.plugins.uninstall("test_approver")

    told = tool_results(model.requests_of("main")[2])[-1]
    assert turn.answer == "It was not allowed."
    assert "state: TIMED OUT" in told
    assert "[timeout]" in told
    assert "I ask for leave." in told
    assert approver.asked == ["get_weather"]
    assert weather.asked == []


@pytest.mark.parametrize("max_steps", [1, 2])
async def test_a_child_that_only_calls_tools_ends_at_its_step_limit_which_is_named(
    bot: Bot, model: Script, weather: Any, max_steps: int
) -> None:
    model.main(call(*make(tools=["get_weather"])), call(*give()), say("done"))
    model.child("scout", then=call("get_weather", {"city": "Oslo"}))

    async with plugin_config(bot, max_steps=max_steps):
        with plugin_events(bot) as events:
            await bot.say("look")
            run = await events.run_over()

    assert (run.state, run.failure.code) == ("failed", "step_limit")
    assert "max_steps" in run.failure.message
