"""AstrBot's own sub-agents, read from whatever stands in its configuration."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager.models import Persona
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.plugin.core_agents import core_agents

CHEF = Persona(instructions="You roast. " * 20, tools=("oven",))


def read(*items: Any, **section: Any) -> tuple[StaticAgentSettings, ...]:
    """The agents of a section that is switched on, in a bot with one persona."""
    return core_agents({"main_enable": True, "agents": list(items), **section}, {"chef": CHEF}.get)


def test_an_agent_is_read_as_astrbot_reads_it() -> None:
    item = {
        "name": " cook ",
        "public_description": "Cooks.",
        "system_prompt": " You cook. ",
        "persona_id": None,
        "provider_id": "big",
        "tools": ["oven", " pan ", "", 7],
    }

    assert read(item) == (
        StaticAgentSettings(
            name="cook",
            description="Cooks.",
            system_prompt="You cook.",
            provider_id="big",
            tools=("oven", "pan", "7"),
        ),
    )


@pytest.mark.parametrize(
    ("tools", "expected"), [(None, None), ([], ()), ("oven", ()), ({}, ()), (["a"], ("a",))]
)
def test_null_is_all_tools_and_what_is_no_list_is_none(tools: object, expected: object) -> None:
    (agent,) = read({"name": "cook", "tools": tools})

    assert agent.tools == expected


def test_an_agent_without_a_description_is_described_by_its_persona() -> None:
    described, silent = read(
        {"name": "cook", "persona_id": "chef"}, {"name": "baker", "persona_id": "nobody"}
    )

    assert described.description == CHEF.instructions[:120]
    assert (silent.description, silent.persona_id) == ("", "nobody")


@pytest.mark.parametrize("name", ["all", "sous-chef", "x" * 60, "two words", "厨师"])
def test_a_name_may_be_anything_that_astrbot_allows(name: str) -> None:
    assert [agent.name for agent in read({"name": name})] == [name]


def test_the_later_one_of_a_name_counts_as_in_astrbots_tool_set() -> None:
    agents = read({"name": "a", "system_prompt": "old"}, {"name": "b"}, {"name": "a"})

    assert [(agent.name, agent.system_prompt) for agent in agents] == [("a", ""), ("b", "")]


def test_what_is_no_agent_is_left_out() -> None:
    items = [None, "cook", {"name": ""}, {"name": None}, {}, {"name": "off", "enabled": False}]

    assert read(*items, {"name": "cook"}) == (StaticAgentSettings(name="cook"),)


@pytest.mark.parametrize(
    "section",
    [
        None,
        "x",
        [],
        {},
        {"agents": [{"name": "cook"}]},
        {"main_enable": False, "agents": [{"name": "cook"}]},
        {"main_enable": True},
        {"main_enable": True, "agents": {"name": "cook"}},
    ],
)
def test_without_agents_there_are_none(section: object) -> None:
    assert core_agents(section, lambda _: None) == ()
