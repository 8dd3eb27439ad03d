"""Making and replacing agents: what comes of it, and what a refusal leaves as it was."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import (
    AgentKind,
    DynamicAgentSettings,
    NewAgent,
    Settings,
    Turn,
)
from astrbot_plugin_subagents.manager.errors import LimitReached, StoreUnavailable
from astrbot_plugin_subagents.manager.events import AgentCreated, AgentRemoved
from astrbot_plugin_subagents.manager.models import ConversationId, OwnerId, SubAgentConfig
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Hang, says
from astrbot_plugin_subagents.manager.workdir import session_folder
from support import core

make_core = core.make_core

type SetUp = Callable[[core.Core, Turn], Awaitable[object]]


def a_host() -> FakeHost:
    return FakeHost(
        says(Hang()),
        tools=("search", "write", "create_subagent"),
        skills=("typing",),
        providers=("main", "small"),
    )


async def test_a_new_agent_is_as_it_was_asked_for(make_core: core.MakeCore) -> None:
    it = await make_core(host=a_host())
    turn = await it.turn()

    reply = await it.call(
        "create_subagent",
        turn,
        name="scout",
        system_prompt="Look around.",
        description="looks",
        tools=["search"],
        skills=["typing"],
        provider_id="small",
    )

    wanted = SubAgentConfig(
        name=core.AgentName("scout"),
        system_prompt="Look around.",
        description="looks",
        tools=("search",),
        skills=("typing",),
        provider_id="small",
        owner=OwnerId("alice"),
        conversation=ConversationId("id000002"),
        created_at=EPOCH,
    )
    manager = await it.open()
    assert manager.agents() == await it.store.load_agents(manager.session) == [wanted]
    assert it.events == [AgentCreated(session=manager.session, at=EPOCH, config=wanted)]
    assert "`transfer_to_scout`" in reply
    assert "`protect_subagent`" in reply


async def test_without_clean_up_the_reply_says_that_the_agent_stays(
    make_core: core.MakeCore,
) -> None:
    kept = Settings(dynamic_agents=DynamicAgentSettings(auto_cleanup_per_turn=False))
    it = await make_core(settings=kept)

    reply = await it.call("create_subagent", await it.turn(), name="a", system_prompt="A.")

    assert "It stays until you remove it." in reply


async def tools_told(it: core.Core, name: str) -> tuple[str, str]:
    """What the reply to making an agent and the list of agents say of its tools."""
    turn = await it.turn()
    made = await it.call(
        "create_subagent", turn, name=name, system_prompt="Go.", tools=["search", "write"]
    )
    listed = await it.call("list_subagents", turn)
    block = next(block for block in listed.split("\n\n") if block.startswith(f"{name} "))
    return (
        made.partition("(tools: ")[2].partition(")")[0],
        block.partition("  tools: ")[2].partition("\n")[0],
    )


async def test_tools_that_every_sub_agent_has_are_told_beside_those_it_was_given(
    make_core: core.MakeCore,
) -> None:
    dynamic = DynamicAgentSettings(
        tools_inherent=("shell", "search", "denied"), tools_blacklist=("denied",)
    )
    it = await make_core(host=a_host(), settings=Settings(dynamic_agents=dynamic))

    told = await tools_told(it, "scout")

    assert told == ("search, write; and, where the bot has them: shell",) * 2


async def test_without_tools_that_every_sub_agent_has_only_the_given_ones_are_told(
    make_core: core.MakeCore,
) -> None:
    bare = Settings(dynamic_agents=DynamicAgentSettings(tools_inherent=()))
    it = await make_core(host=a_host(), settings=bare)

    assert await tools_told(it, "scout") == ("search, write",) * 2


async def test_a_static_agent_has_none_of_the_tools_of_dynamic_ones(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(static=("clerk",))

    assert "  tools: none\n" in await it.call("list_subagents", await it.turn())


async def test_the_same_name_again_replaces_the_agent_and_its_memory_is_fresh(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    old = await it.create("Scout", turn)
    await it.call("transfer_to_Scout", turn, input="Look.")
    assert len(await it.stored_messages(old)) == 2
    it.events.clear()

    new = await it.create("scout", turn, system_prompt="Look again.")

    manager = await it.open()
    assert manager.agents() == await it.store.load_agents(manager.session) == [new]
    assert await it.stored_messages(new) == await it.stored_messages(old) == []
    assert it.events == [
        AgentRemoved(
            session=manager.session, at=EPOCH, config=core.replace(old, member_memory=True)
        ),
        AgentCreated(session=manager.session, at=EPOCH, config=new, replaced=True),
    ]


async def test_a_replaced_agent_takes_no_further_place(make_core: core.MakeCore) -> None:
    it = await make_core(
        settings=Settings(dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=1))
    )
    turn = await it.turn()
    await it.create("scout", turn)

    await it.create("scout", turn, system_prompt="Again.")
    reply = await it.call("create_subagent", turn, name="other", system_prompt="Other.")

    assert reply.startswith("Error: The limit of 1 ")
    assert "remove_subagent" in reply


async def running(it: core.Core, turn: Turn) -> None:
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="Look.", background_task=True)


async def queued(it: core.Core, turn: Turn) -> None:
    await running(it, turn)
    await it.call("transfer_to_scout", turn, input="Look again.", background_task=True)


async def protected(it: core.Core, turn: Turn) -> None:
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")


async def of_another(it: core.Core, _: Turn) -> None:
    await it.create("scout", await it.turn("bob"))


async def nothing(_: core.Core, __: Turn) -> None:
    return


REFUSALS: dict[str, tuple[SetUp, dict[str, Any], tuple[str, ...]]] = {
    "running": (running, {}, ("at work", "cancel_subagent_task", "wait_for_subagent")),
    "queued": (queued, {}, ("at work", "cancel_subagent_task")),
    "protected": (protected, {}, ("protected", "unprotect_subagent")),
    "another owner's": (of_another, {}, ("another user", "admin")),
    "unknown tool": (
        nothing,
        {"tools": ["serch"]},
        ("serch", "Did you mean 'search'?", "Known: search, write."),
    ),
    "black-listed tool": (
        nothing,
        {"tools": ["create_subagent"]},
        ("no sub-agent gets", "create_subagent", "Correct it"),
    ),
    "unknown skill": (
        nothing,
        {"skills": ["typin"]},
        ("typin", "Did you mean 'typing'?", "Known: typing"),
    ),
    "unknown provider": (
        nothing,
        {"provider_id": "smal"},
        ("smal", "Did you mean 'small'?", "main, small"),
    ),
    "relative folder": (
        nothing,
        {"workdir": "notes"},
        ("`workdir`", "absolute path inside one of"),
    ),
    "folder elsewhere": (nothing, {"workdir": "/etc"}, ("`workdir`", "inside one of")),
    "folder too long": (nothing, {"workdir": "/" + "x" * 300}, ("`workdir`",)),
    "folder with NUL": (nothing, {"workdir": "/x\0y"}, ("`workdir`",)),
    "empty prompt": (nothing, {"system_prompt": ""}, ("`system_prompt`",)),
    "blank prompt": (nothing, {"system_prompt": " \n"}, ("`system_prompt`", "empty")),
    "long prompt": (nothing, {"system_prompt": "x" * 100_001}, ("`system_prompt`", "100000")),
}


@pytest.mark.parametrize(("set_up", "changes", "texts"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refused_agent_gets_a_clear_text_and_nothing_changes(
    make_core: core.MakeCore, set_up: SetUp, changes: dict[str, Any], texts: tuple[str, ...]
) -> None:
    it = await make_core(host=a_host())
    turn = await it.turn()
    await set_up(it, turn)
    await core.settled()
    before = await core.snapshot(it)

    arguments = {"name": "scout", "system_prompt": "Look.", **changes}
    reply = await it.call("create_subagent", turn, **arguments)

    assert reply.startswith("Error: ")
    assert [text for text in texts if text not in reply] == []
    assert await core.snapshot(it) == before


async def test_an_admin_may_not_put_an_agent_in_the_place_of_a_members(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(admins=("root",)))
    mine = await it.create("scout", await it.turn("bob"))
    admin = await it.turn("root", is_admin=True)

    reply = await it.call("create_subagent", admin, name="scout", system_prompt="Mine.")

    assert reply.startswith("Error: Sub-agent 'scout' belongs to another user.")
    assert (await it.open()).agents() == [mine]


async def test_a_static_agent_may_not_be_replaced(make_core: core.MakeCore) -> None:
    it = await make_core(static=("clerk",))
    turn = await it.turn()
    before = await core.snapshot(it)

    reply = await it.call("create_subagent", turn, name="clerk", system_prompt="Mine.")

    assert "static" in reply
    assert "another name" in reply
    assert await core.snapshot(it) == before


async def test_static_agents_take_no_place_of_dynamic_ones(make_core: core.MakeCore) -> None:
    it = await make_core(
        static=("clerk",),
        settings=Settings(dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=1)),
    )

    await it.create("scout", await it.turn())

    kinds = [(config.name, config.kind) for config in (await it.open()).agents()]
    assert kinds == [("clerk", AgentKind.STATIC), ("scout", AgentKind.DYNAMIC)]


async def test_zero_agents_is_a_limit_like_any_other(make_core: core.MakeCore) -> None:
    it = await make_core(
        settings=Settings(dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=0))
    )

    reply = await it.call("create_subagent", await it.turn(), name="a", system_prompt="A.")

    assert reply.startswith("Error: The limit of 0 ")


async def test_making_agents_can_be_switched_off(make_core: core.MakeCore) -> None:
    it = await make_core(settings=Settings(dynamic_agents=DynamicAgentSettings(enabled=False)))
    turn = await it.turn()
    manager = await it.open()

    with pytest.raises(Exception, match=r"`dynamic_agents\.enabled`") as raised:
        await manager.create(NewAgent(name="a", system_prompt="A."), turn)

    assert getattr(raised.value, "code", "") == "feature_off"
    assert manager.agents() == []


async def test_a_star_is_all_tools_and_no_unknown_one(make_core: core.MakeCore) -> None:
    it = await make_core()

    config = await it.create("scout", await it.turn(), tools=["*"])

    assert config.tools == ("*",)


async def test_a_folder_inside_the_sessions_own_is_taken(
    make_core: core.MakeCore, tmp_path: Path
) -> None:
    it = await make_core()
    turn = await it.turn()
    own = session_folder(tmp_path, turn.session)

    config = await it.create("scout", turn, workdir=str(own / "x..y" / ".." / "shared"))

    assert config.workdir == str(own / "shared")


@pytest.mark.parametrize("inside", ["x" * 300, "a/" * 3000, "..", "../other", "a/../../b"])
async def test_a_folder_that_only_seems_to_lie_inside_is_refused(
    make_core: core.MakeCore, tmp_path: Path, inside: str
) -> None:
    it = await make_core()
    turn = await it.turn()
    own = session_folder(tmp_path, turn.session)
    own.mkdir()

    reply = await it.call(
        "create_subagent", turn, name="a", system_prompt="A.", workdir=f"{own}/{inside}"
    )

    assert reply.startswith("Error: `workdir`")
    assert (await it.open()).agents() == []


async def test_two_agents_made_at_once_cannot_pass_the_limit_together(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it = await make_core(
        store=trouble.store,
        settings=Settings(dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=1)),
    )
    turn = await it.turn()
    manager = await it.open()
    hold = trouble.hold("save_agent")
    both = [
        asyncio.create_task(manager.create(NewAgent(name=name, system_prompt="Go."), turn))
        for name in ("a", "b")
    ]
    await hold.reached.wait()
    await core.settled()
    hold.gate.set()
    made = await asyncio.gather(*both, return_exceptions=True)

    assert [type(each) for each in made] == [SubAgentConfig, LimitReached]
    assert [config.name for config in manager.agents()] == ["a"]
    assert await it.store.load_agents(manager.session) == manager.agents()


async def test_a_store_that_cannot_write_leaves_no_agent(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    turn = await it.turn()
    manager = await it.open()
    trouble.failing.add("save_agent")

    with pytest.raises(StoreUnavailable):
        await manager.create(NewAgent(name="a", system_prompt="A."), turn)

    assert manager.agents() == []
    assert it.events == []
