"""The settings in use: what other plugins add to them, what they name, what they hide."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import AgentKind, Settings, SubAgentConfig
from astrbot_plugin_subagents.manager.models import AgentName, ConversationId, Persona
from astrbot_plugin_subagents.manager.settings import DynamicAgentSettings, StaticAgentSettings
from astrbot_plugin_subagents.plugin.live_settings import LiveSettings
from astrbot_plugin_subagents.plugin.main_tools import duplicate_tools
from astrbot_plugin_subagents.plugin.references import unknown_references

SETTINGS = Settings(
    dynamic_agents=DynamicAgentSettings(tools_blacklist=("a",), tools_inherent=("b",))
)


def test_other_plugins_add_tools_and_take_them_back() -> None:
    live = LiveSettings(SETTINGS)

    first, second = live.add_blacklisted_tool(" c "), live.add_inherent_tool("d")
    added = live.current()
    first()
    first()

    assert added.dynamic_agents.tools_blacklist == ("a", "c")
    assert added.dynamic_agents.tools_inherent == ("b", "d")
    assert live.current().dynamic_agents.tools_blacklist == ("a",)
    assert live.current().dynamic_agents.tools_inherent == ("b", "d")
    second()
    assert live.current() == SETTINGS


def test_a_tool_that_two_plugins_add_stays_until_both_took_it_back() -> None:
    live = LiveSettings(SETTINGS)
    first, second = live.add_inherent_tool("b"), live.add_inherent_tool("x")
    third = live.add_inherent_tool("x")

    second()
    assert live.current().dynamic_agents.tools_inherent == ("b", "x")
    first()
    third()
    assert live.current() == SETTINGS


@pytest.mark.parametrize("name", ["", "  ", None, 7, ["x"]])
def test_what_is_no_name_is_refused_and_changes_nothing(name: Any) -> None:
    live = LiveSettings(SETTINGS)

    with pytest.raises(ValueError, match="the name of a tool is needed"):
        live.add_blacklisted_tool(name)
    with pytest.raises(ValueError, match="the name of a tool is needed"):
        live.add_inherent_tool(name)

    assert live.current() == SETTINGS


def test_other_settings_count_at_once_and_keep_what_plugins_have_added() -> None:
    live = LiveSettings(SETTINGS)
    live.add_blacklisted_tool("c")
    seen = []
    unfollow = live.follow(lambda: seen.append(live.current().max_steps))

    live.configure(replace(SETTINGS, max_steps=3))
    unfollow()
    live.configure(replace(SETTINGS, max_steps=4))

    assert seen == [3]
    assert live.configured() == replace(SETTINGS, max_steps=4)
    assert live.current().max_steps == 4
    assert live.current().dynamic_agents.tools_blacklist == ("a", "c")


def test_names_that_astrbot_does_not_know_are_told() -> None:
    agents = (
        StaticAgentSettings(name="poet", provider_id="p1", persona_id="n1", personas=("n2", "x")),
        StaticAgentSettings(name="sage", persona_id="n3", system_prompt="Think."),
        StaticAgentSettings(name="off", provider_id="p3", enabled=False),
        StaticAgentSettings(name="fine", provider_id="big", persona_id="x", personas=("x",)),
    )
    settings = Settings(
        dynamic_agents=DynamicAgentSettings(default_provider_id="p0"), static_agents=agents
    )

    told = list(
        unknown_references(
            settings, providers=frozenset({"small", "big"}), personas=frozenset({"x", "default"})
        )
    )

    provider = "takes the id of a chat provider or an empty text; known: big, small."
    assert told == [
        f"`dynamic_agents.default_provider_id` {provider} Tasks that use it will fail.",
        f"`provider_id` of the static agent `poet` {provider} Tasks that use it will fail.",
        (
            "`persona_id` of the static agent `poet` takes the id of a persona or an empty text; "
            "known: default, x. Tasks that use it will fail."
        ),
        (
            "`personas` of the static agent `poet` takes ids of personas; known: default, x. It "
            "can be used by those of the list that exist."
        ),
    ]


def test_nothing_is_told_of_the_defaults() -> None:
    known: frozenset[str] = frozenset()

    assert list(unknown_references(Settings(), providers=known, personas=known)) == []


PERSONAS = {
    "meteo": Persona(instructions="", tools=("sky",)),
    "free": Persona(instructions="", tools=None),
    "pilot": Persona(instructions="", tools=("wind", "fuel")),
}
AGENT = SubAgentConfig(
    name=AgentName("poet"),
    system_prompt="",
    tools=("wind", "rain", "*", "list_subagents"),
    kind=AgentKind.STATIC,
    conversation=ConversationId("c"),
    created_at=datetime(2030, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("changes", "main_persona", "hidden"),
    [
        ({}, "", {"wind", "rain"}),
        ({}, "pilot", {"rain"}),
        ({}, "free", {"wind", "rain"}),
        ({}, "nobody", {"wind", "rain"}),
        ({"tools": None}, "", set()),
        ({"tools": ()}, "", set()),
        ({"persona_id": "meteo"}, "", {"sky"}),
        ({"persona_id": "free"}, "", set()),
        ({"persona_id": "nobody"}, "", {"wind", "rain"}),
        ({"tools": ("denied", "rain")}, "", {"rain"}),
        ({"kind": AgentKind.DYNAMIC}, "", set()),
    ],
)
def test_tools_that_static_agents_have_by_name_are_duplicates(
    changes: dict[str, Any], main_persona: str, hidden: set[str]
) -> None:
    found = duplicate_tools(
        [replace(AGENT, **changes)], PERSONAS.get, denied=("denied",), main_persona=main_persona
    )

    assert found == hidden
