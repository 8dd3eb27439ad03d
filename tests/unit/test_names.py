"""Which names an agent may have, and what a refused one changes: nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager.errors import InvalidName, NameTaken
from astrbot_plugin_subagents.manager.names import checked_name
from astrbot_plugin_subagents.manager.testing import FakeHost
from support import core

make_core = core.make_core

ALLOWED = ("a", "Scout", "scout_2", "x" * 32, "a__", "com10", "system2", "Al1")
REFUSED = (
    "",
    " ",
    "a-b",
    "a b",
    "2fast",
    "_a",
    "__x__",
    "x" * 33,
    "scout\n",
    "\nscout",
    "scout ",
    "scout\0",
    "naïve",
    "агент",
    "助手",
    "a\u0301",
    "ⅷ",
    "a.b",
    "../a",
    "all",
    "ALL",
    "System",
    "main",
    "User",
    "subagent",
    "con",
    "NUL",
    "aux",
    "prn",
    "com1",
    "LPT9",
)


@pytest.mark.parametrize("name", ALLOWED)
def test_a_plain_name_is_taken_as_it_is(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_breaks_a_rule_is_refused(name: str) -> None:
    with pytest.raises(InvalidName) as raised:
        checked_name(name)

    assert raised.value.name == name


@given(st.text(max_size=40))
def test_every_name_that_is_taken_is_a_plain_word_of_ascii(name: str) -> None:
    try:
        checked_name(name)
    except InvalidName:
        return

    assert name.isascii()
    assert name.isidentifier()
    assert not name.startswith("_")
    assert len(name) <= 32


@pytest.mark.parametrize("tool", ["transfer_to_scout", "Transfer_To_Scout"])
def test_a_transfer_tool_may_not_hide_another_tool(tool: str) -> None:
    with pytest.raises(NameTaken):
        checked_name("scout", other_tools=frozenset({"search", tool}))


async def test_a_name_whose_tool_exists_is_refused_and_nothing_changes(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(tools=("search", "transfer_to_scout")))
    turn = await it.turn()
    before = await core.snapshot(it)

    reply = await it.call("create_subagent", turn, name="scout", system_prompt="Look.")

    assert reply.startswith("Error: ")
    assert "transfer_to_scout" in reply
    assert "another name" in reply
    assert await core.snapshot(it) == before


@pytest.mark.parametrize("name", [*REFUSED, "x" * 100_000, "\ud800"])
async def test_a_refused_name_gets_a_short_text_and_nothing_changes(
    make_core: core.MakeCore, name: str
) -> None:
    it = await make_core()
    turn = await it.turn()
    before = await core.snapshot(it)

    reply = await it.call("create_subagent", turn, name=name, system_prompt="Look.")

    assert reply.startswith("Error: ")
    assert len(reply) < 1_500
    assert "call" in reply
    assert await core.snapshot(it) == before


async def test_the_same_name_in_other_letters_is_the_same_agent(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("Scout", turn)
    await it.create("scout", turn)

    manager = await it.open()

    assert [config.name for config in manager.agents()] == ["scout"]
    assert [config.name for config in await it.store.load_agents(manager.session)] == ["scout"]
    assert "Removed sub-agent scout." in await it.call("remove_subagent", turn, name="SCOUT")
