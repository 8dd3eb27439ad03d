"""Static agents in the configuration: what is read, and what becomes of a broken entry."""

from dataclasses import fields
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.settings import Settings, StaticAgentSettings
from astrbot_plugin_subagents.plugin.config import parse_settings

POET = {"name": "poet", "system_prompt": "Write verse."}


def agents_of(*entries: object) -> tuple[StaticAgentSettings, ...]:
    """The agents of a configuration in which nothing is wrong."""
    settings, problems = parse_settings({"static_agents": list(entries)})
    assert problems == ()
    return settings.static_agents


def test_every_key_of_an_agent_is_read() -> None:
    entry: dict[str, Any] = {
        "name": "poet",
        "description": "Writes.",
        "system_prompt": "Write.",
        "persona_id": "bard",
        "tools": ["search"],
        "skills": ["rhyme"],
        "provider_id": "big",
        "workdir": "/srv/poet",
        "personas": ["default", "pirate"],
        "enabled": False,
    }

    (agent,) = agents_of(entry)

    assert sorted(entry) == sorted(each.name for each in fields(StaticAgentSettings))
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    assert agent == StaticAgentSettings(**{**entry, **lists})


def test_what_is_left_out_has_its_default() -> None:
    (agent,) = agents_of({"name": "poet"})

    assert agent == StaticAgentSettings(name="poet")
    assert (agent.tools, agent.skills, agent.enabled) == ((), None, True)


@pytest.mark.parametrize(
    ("value", "tools", "skills"),
    [
        (None, None, None),
        ([], (), ()),
        (["*"], ("*",), None),
        (["*", "x"], ("*", "x"), None),
        (["x", " y ", ""], ("x", "y"), ("x", "y")),
    ],
)
def test_none_and_star_are_all_and_the_empty_list_is_none(
    value: object, tools: object, skills: object
) -> None:
    (agent,) = agents_of({**POET, "tools": value, "skills": value})

    assert (agent.tools, agent.skills) == (tools, skills)


def test_what_astrbots_page_adds_to_an_entry_is_no_setting() -> None:
    (agent,) = agents_of({"__template_key": "agent", **POET})

    assert agent == StaticAgentSettings(name="poet", system_prompt="Write verse.")


@pytest.mark.parametrize(
    ("broken", "key", "found", "accepted"),
    [
        ("poet", "[0]", "str", "a group of settings"),
        (None, "[0]", "NoneType", "a group of settings"),
        ({"system_prompt": "x"}, "[0].name", "", "a name of 1 to 32"),
        ({"name": None}, "[0].name", "NoneType", "a name of 1 to 32"),
        ({"name": ""}, "[0].name", "str", "a name of 1 to 32"),
        ({"name": "all"}, "[0].name", "str", "a name of 1 to 32"),
        ({"name": "SubAgent"}, "[0].name", "str", "a name of 1 to 32"),
        ({"name": "a-b"}, "[0].name", "str", "a name of 1 to 32"),
        ({"name": "a" * 33}, "[0].name", "str", "a name of 1 to 32"),
        ({"name": "x", "tools": "search"}, "[0].tools", "str", 'a list of texts, ["*"] for all'),
        ({"name": "x", "tools": [1]}, "[0].tools", "list", 'a list of texts, ["*"] for all'),
        ({"name": "x", "skills": {}}, "[0].skills", "dict", 'a list of texts, ["*"] for all'),
        ({"name": "x", "workdir": "here"}, "[0].workdir", "str", "the absolute path of a folder"),
        ({"name": "x", "personas": None}, "[0].personas", "NoneType", "a list of texts"),
        ({"name": "x", "enabled": "no"}, "[0].enabled", "str", "true or false"),
        ({"name": "x", "persona_id": 7}, "[0].persona_id", "int", "a text"),
    ],
)
def test_a_broken_agent_is_left_out_and_the_rest_works(
    broken: object, key: str, found: str, accepted: str
) -> None:
    settings, problems = parse_settings({"static_agents": [broken, POET], "max_steps": 7})

    assert settings == Settings(
        static_agents=(StaticAgentSettings(name="poet", system_prompt="Write verse."),), max_steps=7
    )
    (problem,) = problems
    assert (problem.key, problem.found, problem.entry) == (f"static_agents{key}", found, True)
    assert problem.accepted.startswith(accepted)
    assert problem.text.endswith("so this entry is left out.")


def test_everything_that_is_wrong_with_an_agent_is_named() -> None:
    _, problems = parse_settings({"static_agents": [{"name": "all", "tools": 1, "enabled": 1}]})

    assert [each.key for each in problems] == [
        "static_agents[0].name",
        "static_agents[0].tools",
        "static_agents[0].enabled",
    ]


def test_an_unknown_key_of_an_agent_is_named_and_the_agent_works() -> None:
    settings, problems = parse_settings({"static_agents": [{**POET, "tool": ["x"]}]})

    assert [agent.name for agent in settings.static_agents] == ["poet"]
    assert [each.text for each in problems] == [
        (
            "`static_agents[0].tool` (list) is no setting and is ignored. "
            "Did you mean `static_agents[0].tools`?"
        )
    ]


def test_a_missing_name_reads_well() -> None:
    _, problems = parse_settings({"static_agents": [{}]})

    assert problems[0].text.startswith("`static_agents[0].name` takes a name of 1 to 32 letters")
    assert problems[0].text.endswith("; it is missing, so this entry is left out.")


def test_the_second_agent_of_a_name_is_left_out_whatever_its_capitals() -> None:
    entries = [POET, {"name": "POET"}, {"name": "scout"}]

    settings, problems = parse_settings({"static_agents": entries})

    assert [agent.name for agent in settings.static_agents] == ["poet", "scout"]
    assert [(each.key, each.entry) for each in problems] == [("static_agents[1].name", True)]
    assert "no other entry has" in problems[0].text


def test_an_agent_that_is_switched_off_keeps_its_name_from_nobody() -> None:
    agents = agents_of({**POET, "enabled": False}, {"name": "Poet"}, {**POET, "enabled": False})

    assert [(agent.name, agent.enabled) for agent in agents] == [
        ("poet", False),
        ("Poet", True),
        ("poet", False),
    ]


def test_blanks_around_a_name_and_ids_are_dropped() -> None:
    (agent,) = agents_of({"name": " poet\n", "persona_id": " bard ", "provider_id": " big "})

    assert (agent.name, agent.persona_id, agent.provider_id) == ("poet", "bard", "big")
