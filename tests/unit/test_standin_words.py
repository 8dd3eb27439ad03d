"""The stand-in's rules over words: key words, names, orders."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standin.commands import understand
from standin.small_talk import is_small_talk
from standin.strands import MAX_STRANDS, split
from standin.words import agent_name, keywords, language_of, stems

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What happens when a run timed out?", ("run", "timeout")),
        (
            "Use wait_for_subagent in main.py 3.12",
            ("wait_for_subagent", "main.py", "3.12"),
        ),
        ("如何保护子代理", ("sub-agent", "protect", "如何保护子代理")),
        ("настройки агента", ("setting", "настройки", "agent", "агента")),
        ("how is it?", ()),
        ("How do I list all sub-agents", ("list", "sub-agents")),
        ("Please list the settings", ("settings",)),
        ("Как узнать список настроек", ("list", "список", "setting", "настроек")),
        ("что будет", ()),
        ("look into /etc/hosts and/or on /stop", ("/etc/hosts", "/stop")),
    ],
)
def test_key_words_are_what_a_search_needs(text: str, words: tuple[str, ...]) -> None:
    assert keywords(text) == words


@given(text=st.text(), number=st.integers(1, 99), taken=st.frozensets(st.text(max_size=32)))
def test_a_name_made_from_any_text_is_valid(text: str, number: int, taken: frozenset[str]) -> None:
    name = agent_name(text, number=number, taken=taken)

    assert NAME.fullmatch(name)
    assert name not in {"all", "system", "main", "user", "subagent", "con", "nul"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("How do I protect a sub-agent", "protect"),
        ("What does wait_for_subagent do?", "wait"),
        ("transfer_to_subagent and list_subagents", "transfer_list"),
        ("Sub-agents", "topic_1"),
        ("main", "topic_1"),
        ("一", "topic_1"),
        ("3.12 release notes", "release_notes"),
        ("internationalisation configuration documentation", "internationalisation_configurati"),
    ],
)
def test_a_name_tells_what_its_agent_is_about(text: str, name: str) -> None:
    assert agent_name(text, number=1) == name


def test_a_taken_name_gets_a_number() -> None:
    assert agent_name("memory", number=2, taken=frozenset({"memory"})) == "memory_2"


@given(text=st.text(max_size=300))
def test_any_text_can_be_split_and_read(text: str) -> None:
    assert len(split(text)) <= MAX_STRANDS
    assert is_small_talk(text) in {True, False}
    assert language_of(text) in {"en", "ru", "zh"}
    stems(text)
    understand(text)


def test_forms_of_a_word_are_met_as_the_same() -> None:
    assert stems("protected sub-agents timed out") == stems("Protecting subagent timeout")


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("Please list the sub-agents.", "list_subagents", {}),
        ("List the sub-agents, please.", "list_subagents", {}),
        ("列出子代理", "list_subagents", {}),
        ("покажи субагентов", "list_subagents", {}),
        ("protect the sub-agent run_timeout", "protect_subagent", {"name": "run_timeout"}),
        ("Unprotect `memory`", "unprotect_subagent", {"name": "memory"}),
        ("remove all", "remove_subagent", {"name": "all"}),
        ("删除 memory", "remove_subagent", {"name": "memory"}),
        ("сбрось memory", "reset_subagent", {"name": "memory"}),
    ],
)
def test_a_short_order_is_one_tool_call(text: str, tool: str, arguments: dict[str, str]) -> None:
    call = understand(text)

    assert call is not None
    assert (call.name, call.arguments) == (tool, arguments)


@pytest.mark.parametrize(
    "text", ["How do I protect a sub-agent", "protect a sub-agent", "remove the agents", "list"]
)
def test_a_question_is_no_order(text: str) -> None:
    assert understand(text) is None
