"""Which tools a filter lets through: by what is known of them, and never by mistake."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import errors
from astrbot_plugin_subagents.manager.settings import CustomFilterSettings, TaskSettings
from astrbot_plugin_subagents.manager.tool_filter import (
    BUILT_IN_FILTERS,
    NO_FILTER,
    Custom,
    FullAccess,
    NoFilter,
    ReadOnly,
    ToolFacts,
    ToolFilter,
    find_filter,
)

SEARCH = ToolFacts(name="web_search", reads_only=True)
SAVE = ToolFacts(name="save_note")
SHELL = ToolFacts(name="host_tool", runs_code=True)
HINTED = ToolFacts(name="list_issues", server="git", read_only_hint=True)
DESTROYER = ToolFacts(name="drop_table", server="db", destructive_hint=True)
TOOLS = (SEARCH, SAVE, SHELL, HINTED, DESTROYER)


def whitelist(*allowed: str, denied: tuple[str, ...] = ()) -> Custom:
    return Custom(settings=CustomFilterSettings(name="mine", allowed=allowed, denied=denied))


def blacklist(*denied: str) -> Custom:
    settings = CustomFilterSettings(name="mine", mode="blacklist", denied=denied)
    return Custom(settings=settings)


@pytest.mark.parametrize(
    ("tool_filter", "allowed"),
    [
        (ReadOnly(), (SEARCH,)),
        (ReadOnly(extra=frozenset({"save_note"})), (SEARCH, SAVE)),
        (ReadOnly(trusted_servers=frozenset({"git", "db"})), (SEARCH, HINTED)),
        (FullAccess(), (SEARCH, SAVE, HINTED)),
        (FullAccess(denied=frozenset({"save_note"})), (SEARCH, HINTED)),
        (whitelist(), ()),
        (whitelist("save_note", "host_tool", "drop_table"), (SAVE, SHELL, DESTROYER)),
        (blacklist(), (SEARCH, SAVE, SHELL, HINTED)),
        (blacklist("host_tool"), (SEARCH, SAVE, HINTED)),
        (NO_FILTER, TOOLS),
    ],
)
def test_a_filter_lets_through_what_it_says(
    tool_filter: ToolFilter, allowed: tuple[ToolFacts, ...]
) -> None:
    assert tool_filter.filter(TOOLS) == list(allowed)


@pytest.mark.parametrize("wrong", ["runs_code", "destructive_hint"])
def test_nothing_makes_a_dangerous_tool_one_that_only_reads(wrong: str) -> None:
    tool = ToolFacts(name="look", reads_only=True, server="git", read_only_hint=True)
    tool_filter = ReadOnly(extra=frozenset({"look"}), trusted_servers=frozenset({"git"}))
    changes: dict[str, Any] = {wrong: True}

    assert tool_filter.is_allowed(tool)
    assert not tool_filter.is_allowed(replace(tool, **changes))


@pytest.mark.parametrize(
    "tool",
    [
        ToolFacts(name="x", server="git"),
        ToolFacts(name="x", server="GIT", read_only_hint=True),
        ToolFacts(name="x", server="git ", read_only_hint=True),
        ToolFacts(name="x", server="", read_only_hint=True),
        ToolFacts(name="git", read_only_hint=True),
    ],
)
def test_a_hint_counts_only_from_a_server_that_is_trusted(tool: ToolFacts) -> None:
    assert not ReadOnly(trusted_servers=frozenset({"git", ""})).is_allowed(tool)


@pytest.mark.parametrize(
    "name", ["Look", "look ", "l\u043eok", "my_look", "look_", "\uff4cook", "loo"]
)
def test_a_tool_is_allowed_by_its_exact_name_only(name: str) -> None:
    tool = ToolFacts(name=name)

    assert not ReadOnly(extra=frozenset({"look"})).is_allowed(tool)
    assert not whitelist("look").is_allowed(tool)


def test_a_mode_that_does_not_exist_allows_no_more_than_a_whitelist() -> None:
    settings = CustomFilterSettings(name="mine", mode="Blacklist")  # type: ignore[arg-type]

    assert Custom(settings=settings).filter(TOOLS) == []


def test_filters_are_found_with_their_settings() -> None:
    mine = CustomFilterSettings(name="Mine", allowed=("a",))
    settings = TaskSettings(
        readonly_extra=("r",),
        full_denied_extra=("f",),
        custom_filters=(mine,),
        trusted_mcp_servers=("s",),
    )

    assert find_filter("readonly", settings) == ReadOnly(
        extra=frozenset({"r"}), trusted_servers=frozenset({"s"})
    )
    assert find_filter("full", settings) == FullAccess(denied=frozenset({"f"}))
    assert find_filter("none", settings) == NoFilter()
    assert find_filter("Mine", settings) == Custom(settings=mine)
    for name in (*BUILT_IN_FILTERS, "Mine"):
        assert find_filter(name, settings).name == name


@pytest.mark.parametrize("name", ["", "mine", "Readonly", "NONE", " full", "full ", "*", "all"])
def test_a_filter_that_does_not_exist_is_an_error_that_lists_those_that_do(name: str) -> None:
    settings = TaskSettings(custom_filters=(CustomFilterSettings(name="Mine"),))

    with pytest.raises(errors.UnknownReference) as caught:
        find_filter(name, settings)

    assert caught.value.kind == "tool filter"
    assert caught.value.names == (name,)
    assert caught.value.known == ("Mine", "full", "none", "readonly")


def test_no_custom_filter_can_take_the_place_of_a_built_in_one() -> None:
    impostor = CustomFilterSettings(name="readonly", mode="blacklist")

    assert find_filter("readonly", TaskSettings(custom_filters=(impostor,))) == ReadOnly()


def test_tasks_may_only_read_unless_something_else_is_said() -> None:
    settings = TaskSettings()

    assert find_filter(settings.default_tool_filter, settings).filter(TOOLS) == [SEARCH]


_PLAIN = st.sampled_from(["look", "save_note", "run_code", "shell", "read", "git", "", " "])
_TWISTS = st.sampled_from(
    [
        str.upper,
        str.title,
        "mcp__git__{}".format,
        "{} ".format,
        "\u200b{}".format,
        "{}\u0301".format,
        lambda name: name.replace("o", "\u043e"),
        lambda name: name.replace("e", "\uff45"),
        lambda name: name.replace("_", "-"),
    ]
)
NAMES = _PLAIN | st.builds(lambda name, twist: twist(name), _PLAIN, _TWISTS) | st.text(max_size=8)
"""Names as they are configured, names that only look like them, and any others."""
LISTS = st.lists(NAMES, max_size=4).map(tuple)
SERVERS = st.sampled_from(["", "git", "Git", "git ", "db"])
FACTS = st.builds(
    ToolFacts,
    name=NAMES,
    reads_only=st.booleans(),
    runs_code=st.booleans(),
    server=SERVERS,
    read_only_hint=st.booleans(),
    destructive_hint=st.booleans(),
)
MANY = st.lists(FACTS, max_size=8)
SETTINGS = st.builds(
    TaskSettings,
    readonly_extra=LISTS,
    full_denied_extra=LISTS,
    trusted_mcp_servers=st.lists(SERVERS, max_size=3).map(tuple),
    custom_filters=st.tuples(
        st.builds(
            CustomFilterSettings,
            name=st.just("mine"),
            mode=st.sampled_from(["whitelist", "blacklist"]),
            allowed=LISTS,
            denied=LISTS,
        )
    ),
)


@given(st.sampled_from([*BUILT_IN_FILTERS, "mine"]), SETTINGS, MANY)
def test_what_is_listed_is_what_may_be_called(
    name: str, settings: TaskSettings, tools: list[ToolFacts]
) -> None:
    tool_filter = find_filter(name, settings)

    listed = tool_filter.filter(iter(tools))

    assert listed == [tool for tool in tools if tool_filter.is_allowed(tool)]
    assert tool_filter.filter(listed) == listed


@given(SETTINGS, MANY)
def test_a_tool_that_only_reads_is_known_or_named_exactly_or_vouched_for(
    settings: TaskSettings, tools: list[ToolFacts]
) -> None:
    for tool in find_filter("readonly", settings).filter(tools):
        known = tool.reads_only
        named = any(tool.name == each for each in settings.readonly_extra)
        trusted = bool(tool.server) and tool.server in settings.trusted_mcp_servers
        assert known or named or (trusted and tool.read_only_hint)
        assert not tool.runs_code
        assert not tool.destructive_hint


@given(SETTINGS, MANY)
def test_full_access_never_runs_code_nor_destroys(
    settings: TaskSettings, tools: list[ToolFacts]
) -> None:
    for tool in find_filter("full", settings).filter(tools):
        assert not tool.runs_code
        assert not tool.destructive_hint
        assert tool.name not in settings.full_denied_extra
        assert "shell" not in tool.name.lower()


@given(SETTINGS, MANY, NAMES)
def test_a_denied_name_goes_before_everything_else(
    settings: TaskSettings, tools: list[ToolFacts], name: str
) -> None:
    (mine,) = settings.custom_filters
    mine = replace(mine, allowed=(*mine.allowed, name), denied=(*mine.denied, name))

    allowed = Custom(settings=mine).filter([*tools, ToolFacts(name=name, reads_only=True)])

    denied = {each.casefold() for each in mine.denied}
    assert [tool for tool in allowed if tool.name.casefold() in denied] == []


@given(LISTS, LISTS, MANY)
def test_a_whitelist_lets_nothing_through_that_it_does_not_name(
    allowed: tuple[str, ...], denied: tuple[str, ...], tools: list[ToolFacts]
) -> None:
    found = whitelist(*allowed, denied=denied).filter(tools)

    assert {tool.name for tool in found} <= set(allowed)
    assert {tool.name for tool in found}.isdisjoint(denied)
