"""Static agents: configured by the bot's owner, set anew at each turn, never changed by a chat."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager import AgentKind, Origin, Settings, SubAgentConfig, Turn
from astrbot_plugin_subagents.manager.models import BOT, Persona
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from support import core

make_core = core.make_core


def clerk(**changes: Any) -> StaticAgentSettings:
    """A configured agent."""
    return StaticAgentSettings(**{"name": "clerk", "system_prompt": "You file.", **changes})


async def in_turn(
    it: core.Core, *agents: StaticAgentSettings, owner: str = "alice", persona: str = "", **who: Any
) -> Turn:
    """A turn that begins with these agents configured."""
    it.static = agents
    turn = await it.turn(owner, is_admin=owner in it.host.admins, **who)
    turn.origin = Origin(persona_id=persona)
    return turn


async def agents(it: core.Core, turn: Turn | None = None) -> list[SubAgentConfig]:
    return (await it.open()).agents(turn)


async def names(it: core.Core, turn: Turn | None = None) -> list[str]:
    return [config.name for config in await agents(it, turn)]


def tasks(it: core.Core) -> list[list[object]]:
    """What each run's child remembered of earlier tasks."""
    return [
        [body["content"] for body in request.history if body["role"] == "user"]
        for request in it.host.requests
    ]


# ---- who there is


async def test_a_configured_agent_is_the_bots_and_protected(make_core: core.MakeCore) -> None:
    it = await make_core()
    await in_turn(
        it,
        clerk(description="files", tools=("search",), skills=("s",), provider_id="p", workdir="/x"),
    )

    (config,) = await agents(it)

    assert (config.name, config.kind, config.owner, config.protected) == (
        "clerk", AgentKind.STATIC, BOT, True,
    )  # fmt: skip
    assert (config.system_prompt, config.description) == ("You file.", "files")
    assert (config.tools, config.skills) == (("search",), ("s",))
    assert (config.provider_id, config.workdir) == ("p", "/x")
    assert (await it.open()).is_protected("CLERK")


async def test_each_turn_has_the_agents_that_are_configured_then(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    for _ in range(2):
        await in_turn(it, clerk(), clerk(name="guard"))
    await in_turn(
        it, clerk(description="new"), clerk(name="poet"), clerk(name="off", enabled=False)
    )

    assert [(c.name, c.description) for c in await agents(it)] == [("clerk", "new"), ("poet", "")]
    assert [type(e).__name__ + " " + e.config.name for e in it.events if hasattr(e, "config")] == [
        "AgentCreated clerk", "AgentCreated guard", "AgentCreated poet", "AgentRemoved guard",
    ]  # fmt: skip


async def test_of_two_with_one_name_the_first_counts(make_core: core.MakeCore) -> None:
    it = await make_core()

    await in_turn(it, clerk(enabled=False), clerk(description="1"), clerk(name="Clerk"))

    assert [(c.name, c.description) for c in await agents(it)] == [("clerk", "1")]


async def test_static_agents_stand_first_and_take_no_place_of_dynamic_ones(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(settings=core.many_agents())
    turn = await in_turn(it)
    await it.create("scout", turn)

    turn = await in_turn(it, clerk())
    listed = await it.call("list_subagents", turn)

    assert await names(it) == ["clerk", "scout"]
    assert "clerk (static, protected)" in listed
    assert "owner: the bot" in listed
    assert "Free: 49 of 50 sub-agents" in listed


async def test_a_static_agent_comes_in_when_its_dynamic_namesake_has_gone(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    turn = await in_turn(it)
    await it.create("Clerk", turn)
    await it.call("transfer_to_Clerk", turn, input="one")

    turn = await in_turn(it, clerk())
    await it.call("transfer_to_Clerk", turn, input="two")
    kept = [(c.name, c.kind) for c in await agents(it)]
    await it.call("remove_subagent", turn, name="Clerk")
    turn = await in_turn(it, clerk())
    await it.call("transfer_to_clerk", turn, input="three")

    assert kept == [("Clerk", AgentKind.DYNAMIC)]
    assert [(c.name, c.kind) for c in await agents(it)] == [("clerk", AgentKind.STATIC)]
    assert tasks(it) == [[], ["one"], []]
    assert "You file." in it.host.requests[-1].system_prompt


# ---- what a chat can do to one


@pytest.mark.parametrize("owner", ["alice", "root"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("remove_subagent", {"name": "clerk"}),
        ("unprotect_subagent", {"name": "clerk"}),
        ("protect_subagent", {"name": "clerk"}),
        ("create_subagent", {"name": "clerk", "system_prompt": "x"}),
        ("create_subagent", {"name": "CLERK", "system_prompt": "x"}),
        ("remove_subagent", {"name": "all"}),
    ],
)
async def test_nobody_changes_or_removes_it(
    make_core: core.MakeCore, owner: str, tool: str, arguments: dict[str, Any]
) -> None:
    it = await make_core(host=FakeHost(admins=("root",)))
    turn = await in_turn(it, clerk(), owner=owner)
    before = await core.snapshot(it)

    reply = await it.call(tool, turn, **arguments)

    assert "static" in reply or arguments["name"] == "all"
    assert await core.snapshot(it) == before


async def test_it_outlives_every_turn(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await in_turn(it, clerk())
    await it.call("transfer_to_clerk", turn, input="one")

    await it.end(turn)

    assert await names(it) == ["clerk"]


async def test_one_that_went_while_its_task_stood_in_the_line_is_told_as_such(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="done")))
    turn = await in_turn(it, clerk())
    first, second = [
        core.task_id(await it.call("transfer_to_clerk", turn, input=task, background_task=True))
        for task in ("one", "two")
    ]
    await hang.reached.wait()

    await in_turn(it)
    hang.gate.set()
    await it.until_over(first, second)

    assert [(await it.run(run)).state for run in (first, second)] == ["completed", "failed"]
    failure = (await it.run(second)).failure
    assert failure is not None
    assert failure.code == "agent_not_found"


# ---- its memory


async def test_its_memory_outlives_turns_and_a_restart_and_is_each_chats_own(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    await it.call("transfer_to_clerk", await in_turn(it, clerk()), input="one")
    await it.call("transfer_to_clerk", await in_turn(it, clerk(description="x")), input="two")
    await it.sessions.close()
    await it.store.open()
    again = await make_core(store=it.store, clock=it.clock, executor="process2")

    await again.call("transfer_to_Clerk", await in_turn(again, clerk(name="Clerk")), input="three")
    turn = await again.turn(session="another chat")
    await again.call("transfer_to_Clerk", turn, input="four")

    assert tasks(it) == [[], ["one"]]
    assert tasks(again) == [["one", "two"], []]


async def test_it_remembers_again_when_it_was_away_for_a_while(make_core: core.MakeCore) -> None:
    it = await make_core()
    await it.call("transfer_to_clerk", await in_turn(it, clerk()), input="one")

    await in_turn(it)
    await it.call("transfer_to_clerk", await in_turn(it, clerk()), input="two")

    assert tasks(it) == [[], ["one"]]


async def test_a_reset_lasts_over_turns_and_a_restart(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await in_turn(it, clerk(), is_alone=True)
    await it.call("transfer_to_clerk", turn, input="one")
    await it.call("reset_subagent", turn, name="clerk")
    turn = await in_turn(it, clerk())
    await it.call("transfer_to_clerk", turn, input="two")
    await it.sessions.close()
    await it.store.open()
    again = await make_core(store=it.store, clock=it.clock, executor="process2")

    await again.call("transfer_to_clerk", await in_turn(again, clerk()), input="three")

    assert tasks(it) == [[], []]
    assert tasks(again) == [["two"]]
    assert len(await again.stored_messages((await agents(again))[0])) == 4


async def test_what_a_member_wrote_binds_it_until_an_admin_resets_it(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(admins=("root",)))

    async def used_by(owner: str) -> bool:
        turn = await in_turn(it, clerk(), owner=owner)
        await it.call("transfer_to_clerk", turn, input="x")
        return it.host.requests[-1].member_rights

    seen = [await used_by("root"), await used_by("alice"), await used_by("root")]
    alone = await in_turn(it, clerk(), owner="alice", is_alone=True)
    assert "Error" not in await it.call("reset_subagent", alone, name="clerk")
    seen.append(await used_by("root"))
    await it.call("reset_subagent", await in_turn(it, clerk(), owner="root"), name="clerk")
    seen.append(await used_by("root"))

    assert seen == [False, True, True, True, False]


async def test_the_mark_of_a_members_words_survives_a_restart(make_core: core.MakeCore) -> None:
    it = await make_core(host=FakeHost(admins=("root",)))
    await it.call("transfer_to_clerk", await in_turn(it, clerk()), input="x")
    await it.sessions.close()
    await it.store.open()
    again = await make_core(
        host=FakeHost(admins=("root",)), store=it.store, clock=it.clock, executor="process2"
    )

    turn = await in_turn(again, clerk(), owner="root")
    await again.call("transfer_to_clerk", turn, input="x")

    assert again.host.requests[-1].member_rights


# ---- who may use it


async def test_it_is_there_only_for_the_personas_that_may_use_it(make_core: core.MakeCore) -> None:
    it = await make_core()
    configured = (clerk(personas=("pirate", "poet")), clerk(name="guard"))
    pirate = await in_turn(it, *configured, persona="pirate")
    default = await in_turn(it, *configured)
    before = await core.snapshot(it)

    refused = await it.call("transfer_to_clerk", default, input="x")

    assert await core.snapshot(it) == before
    assert refused == "Error: There is no sub-agent named 'clerk'. Sub-agents: guard."
    assert [await names(it, turn) for turn in (pirate, default)] == [["clerk", "guard"], ["guard"]]
    for turn, there in ((pirate, True), (default, False)):
        assert ("clerk" in await it.call("list_subagents", turn)) is there
        assert ("clerk" in await it.notes(turn)) is there
    assert "done" in await it.call("transfer_to_clerk", pirate, input="x")


# ---- what its run is given


PIRATE = Persona(
    instructions="Arr!",
    dialogue=({"role": "user", "content": "Ahoy"}, {"role": "assistant", "content": "Arr"}),
    tools=("search",),
    skills=("sailing",),
)


async def test_a_persona_gives_words_tools_skills_and_dialogue_as_it_is_when_the_run_starts(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(skills=("sailing", "cooking")))
    it.host.personas["pirate"] = core.replace(PIRATE, instructions="old")
    turn = await in_turn(it, clerk(persona_id="pirate", tools=("write",), skills=("cooking",)))
    it.host.personas["pirate"] = PIRATE

    for task in ("one", "two"):
        await it.call("transfer_to_clerk", turn, input=task)

    request = it.host.requests[-1]
    assert request.system_prompt.startswith("# Your role\nYou are the sub-agent clerk.\nArr!\n")
    assert "You file." not in request.system_prompt
    assert "sailing" in request.system_prompt
    assert "cooking" not in request.system_prompt
    assert request.tools.assigned == ("search",)
    assert [body["content"] for body in request.history] == ["one", "done", "Ahoy", "Arr"]


async def test_without_a_list_it_has_all_tools_and_with_an_empty_one_none(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    it.host.personas["pirate"] = core.replace(PIRATE, tools=None)
    turn = await in_turn(
        it,
        clerk(name="a", tools=None),
        clerk(name="b", tools=()),
        clerk(name="c", tools=(), persona_id="pirate"),
        clerk(name="d", tools=("search",)),
    )

    for name in ("a", "b", "c", "d"):
        await it.call(f"transfer_to_{name}", turn, input="x")

    scopes = [request.tools for request in it.host.requests]
    assert [scope.assigned for scope in scopes] == [None, (), None, ("search",)]
    # rules and inherent tools are for agents that the model makes
    assert {scope.inherent for scope in scopes} == {()}
    assert all(scope.beyond_turn for scope in scopes)
    assert all("# Rules" not in request.system_prompt for request in it.host.requests)
    assert all("create_subagent" in scope.denied for scope in scopes)


async def test_an_unknown_persona_is_a_clear_error(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await in_turn(it, clerk(persona_id="parrot", system_prompt=""))

    reply = await it.call("transfer_to_clerk", turn, input="x")

    assert it.host.requests == []
    assert "state: FAILED" in reply
    assert "parrot" in reply
    assert "[invalid_argument]" in reply


async def test_a_persona_that_is_gone_gives_way_to_ones_own_words(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await in_turn(it, clerk(persona_id="parrot", tools=("search",)))

    await it.call("transfer_to_clerk", turn, input="x")

    (request,) = it.host.requests
    assert "You file." in request.system_prompt
    assert request.tools.assigned == ("search",)


async def test_its_folder_must_lie_in_an_allowed_one_when_its_run_starts(
    make_core: core.MakeCore, tmp_path: Any, tmp_path_factory: Any
) -> None:
    allowed = tmp_path_factory.mktemp("allowed")
    it = await make_core(settings=Settings(workdir_roots=(str(allowed),)))
    turn = await in_turn(
        it,
        clerk(name="a", workdir=str(allowed / "a")),
        clerk(name="b", workdir=str(tmp_path / "elsewhere")),
    )

    good, bad = [await it.call(f"transfer_to_{name}", turn, input="x") for name in ("a", "b")]

    assert "state: completed" in good
    assert (allowed / "a").is_dir()
    assert "state: FAILED" in bad
    assert "must lie inside one of" in bad
    assert not (tmp_path / "elsewhere").exists()
