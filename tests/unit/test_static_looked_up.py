"""What a static agent is told and may use, as it is looked up when its run starts."""

from typing import Any

from astrbot_plugin_subagents.manager import Settings, Turn
from astrbot_plugin_subagents.manager.models import Persona
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.manager.testing import FakeHost
from support import core

make_core = core.make_core


async def in_turn(it: core.Core, *agents: StaticAgentSettings) -> Turn:
    """A turn of a user with these static agents."""
    it.static = agents
    return await it.turn()


def clerk(**changes: Any) -> StaticAgentSettings:
    """A configured agent."""
    return StaticAgentSettings(**{"name": "clerk", "system_prompt": "You file.", **changes})


async def test_a_persona_without_words_leaves_the_agents_own_instructions(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    it.host.personas["mute"] = Persona(instructions="", tools=("search",))
    turn = await in_turn(it, clerk(name="a", persona_id="mute", system_prompt="File it."))

    await it.call("transfer_to_a", turn, input="x")

    assert "\nFile it." in it.host.requests[0].system_prompt


async def test_an_agent_with_skills_gets_what_it_takes_to_open_them(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(skills=("typing",)))
    turn = await in_turn(
        it, clerk(name="a", skills=("typing",), tools=()), clerk(name="b", skills=(), tools=())
    )

    for name in ("a", "b"):
        await it.call(f"transfer_to_{name}", turn, input="x")

    assert [request.tools.reads_skills for request in it.host.requests] == [True, False]


async def test_a_model_of_its_own_goes_before_the_default_one(make_core: core.MakeCore) -> None:
    it = await make_core(
        settings=Settings(
            dynamic_agents=core.replace(Settings().dynamic_agents, default_provider_id="cheap")
        )
    )
    turn = await in_turn(it, clerk(name="a", provider_id="dear"), clerk(name="b"))

    for name in ("a", "b"):
        await it.call(f"transfer_to_{name}", turn, input="x")

    assert [request.provider_id for request in it.host.requests] == ["dear", "cheap"]
