"""The notice board as agents use it: by tools, while they work, and as long as they are there."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Sessions, Settings
from astrbot_plugin_subagents.manager.host import AgentOutcome, AgentRequest, RunObserver
from astrbot_plugin_subagents.manager.models import SharedEntry
from astrbot_plugin_subagents.manager.settings import DynamicAgentSettings
from astrbot_plugin_subagents.manager.testing import Act, FakeHost, Hang, Say, Script, Use
from astrbot_plugin_subagents.subagent_tools import child_tools, management_tools
from support import core

POST = "send_shared_context_for_main_agent"
VIEW = "view_shared_context"


class BoardHost(FakeHost):
    """Plays each child by its task, and knows what each child's model was told before each call."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.told: dict[str, list[str]] = {}
        """By agent: all notes of its newest run's model calls, one text a call."""

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        calls = self.told[str(request.agent)] = []
        ask = observer.before_model_call
        first = list(request.notes)

        async def before_model_call() -> Any:
            plan = await ask()
            calls.append("\n".join([*first, *plan.notes]))
            first.clear()
            return plan

        observer.before_model_call = before_model_call  # type: ignore[method-assign] # one of it
        return await super().drive(request, observer)


class BoardCore(core.Core):
    """A core whose children have the tools of the product."""

    def __init__(self, files: Path, acts: dict[str, Sequence[Act]], **arguments: Any) -> None:
        self.played = BoardHost(lambda request: acts[request.prompt])
        super().__init__(files, host=self.played, **arguments)
        self.services = core.replace(self.services, child_tools=child_tools)
        self.sessions = Sessions(self.services)

    async def board(self) -> list[SharedEntry]:
        """What stands on the board, and in the store alike."""
        stored = await self.store.load_shared_entries(core.SessionId("chat"))
        manager = await self.open()
        if manager.board.is_on:
            assert stored == list(manager.board.notes())
        return stored


type MakeBoardCore = Callable[..., Awaitable[BoardCore]]


@pytest.fixture
async def make_core(tmp_path: Path) -> AsyncIterator[MakeBoardCore]:
    async with AsyncExitStack() as stack:

        async def make(acts: dict[str, Sequence[Act]] | None = None, **kw: Any) -> BoardCore:
            kw.setdefault("settings", core.many_agents())
            return await stack.enter_async_context(BoardCore(tmp_path, acts or {}, **kw))

        yield make


def note(content: str = "found it", *, gate: asyncio.Event | None = None, **more: str) -> Use:
    """A child's call of its own tool."""
    arguments = json.dumps({"context_type": "message", "content": content, **more})
    return Use(tool="send_shared_context", arguments=arguments, gate=gate)


def words(it: BoardCore, agent: str) -> list[list[str]]:
    """Which of the test's words each model call of a child brought."""
    return [re.findall("red|blue|green", text) for text in it.played.told[agent]]


async def test_a_childs_note_is_its_own_whatever_its_model_says(make_core: MakeBoardCore) -> None:
    it = await make_core({"dig": [note("red", target="Clerk"), note(sender="main"), Say(text="")]})
    alice, bob = await it.turn("alice"), await it.turn("bob")
    await it.create("scout", alice)
    await it.create("clerk", alice)

    await it.call("transfer_to_scout", bob, input="dig")

    (entry,) = await it.board()
    assert (entry.kind, entry.sender, entry.owner, entry.target, entry.content) == (
        "message", "scout", "bob", "clerk", "red",
    )  # fmt: skip
    first, second = [
        body["content"]
        for body in await it.stored_messages((await it.open()).agents()[0])
        if body["role"] == "tool"
    ]
    assert first == "Note 1 is on the board for clerk."
    assert "`sender` is not a parameter" in second


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"context_type": "system"}, "`context_type`"),
        ({"content": ""}, "`content`"),
        ({"content": "  \n"}, "must not be empty"),
        ({"content": "x" * 20_001}, "`content`"),
        ({"content": None}, "`content` is required"),
        ({"content": ["a"]}, "`content`"),
        ({"target": "clark"}, "Did you mean 'clerk'?"),
        ({"target": "main"}, "Sub-agents: all, clerk, scout."),
    ],
)
async def test_a_wrong_note_of_a_child_gets_a_clear_text_and_is_not_posted(
    make_core: MakeBoardCore, arguments: dict[str, Any], problem: str
) -> None:
    wanted = {"context_type": "message", "content": "red", **arguments}
    use = Use(tool="send_shared_context", arguments=json.dumps(wanted))
    it = await make_core({"dig": [use, Say(text="")]})
    turn = await it.turn()
    scout = await it.create("scout", turn)
    await it.create("clerk", turn)

    await it.call("transfer_to_scout", turn, input="dig")

    reply = next(b["content"] for b in await it.stored_messages(scout) if b["role"] == "tool")
    assert reply.startswith("Error: ")
    assert problem in reply
    assert await it.board() == []


async def test_every_later_call_of_every_running_child_brings_what_is_new_and_nothing_else(
    make_core: MakeBoardCore,
) -> None:
    scout, clerk = Hang(), Hang()
    gates = [asyncio.Event(), asyncio.Event()]
    it = await make_core(
        {
            "write": [clerk, Use(tool="search", gate=gates[0]), Say(text="")],
            "dig": [note("red"), scout, Use(tool="search", gate=gates[1]), Say(text="")],
        }
    )
    turn = await it.turn()
    ids = []
    for name, task, hang in (("clerk", "write", clerk), ("scout", "dig", scout)):
        await it.create(name, turn)
        reply = await it.call(f"transfer_to_{name}", turn, input=task, background_task=True)
        ids.append(core.task_id(reply))
        await hang.reached.wait()

    posted = await it.call(POST, turn, context_type="system", content="blue")
    clerk.gate.set()
    scout.gate.set()
    await core.settled()
    await it.call(POST, turn, context_type="message", content="green", target="scout")
    for gate in gates:
        gate.set()
    await it.until_over(*ids)

    assert posted.startswith("Note 2 is on the board for all.")
    assert words(it, "scout") == [[], [], ["blue"], ["green"]]
    assert words(it, "clerk") == [[], ["blue", "red"], ["green"]]
    assert "blue" not in str(it.host.requests)


async def test_what_was_said_before_is_told_in_the_user_turn_and_never_kept(
    make_core: MakeBoardCore,
) -> None:
    it = await make_core({"dig": [Use(tool="search"), Say(text="dug")]})
    turn = await it.turn()
    scout = await it.create("scout", turn)
    await it.call(POST, turn, context_type="system", content="red")

    for _ in range(2):
        await it.call("transfer_to_scout", turn, input="dig")

    assert [sum("red" in part for part in r.notes) for r in it.host.requests] == [1, 1]
    assert words(it, "scout") == [["red"], []]
    assert [r.prompt for r in it.host.requests] == ["dig", "dig"]
    assert "red" not in json.dumps([r.system_prompt for r in it.host.requests])
    assert "red" not in json.dumps(await it.stored_messages(scout))


async def test_without_notes_a_child_is_told_only_the_time(make_core: MakeBoardCore) -> None:
    it = await make_core({"dig": [Say(text="")]})
    turn = await it.turn()
    await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="dig")

    (only,) = it.host.requests[0].notes
    assert only.startswith("Current time: ")


async def test_an_agents_notes_go_with_its_memory_and_with_itself(
    make_core: MakeBoardCore,
) -> None:
    it = await make_core({name: [note(name), Say(text="")] for name in ("a", "b", "c")})
    turn = await it.turn()
    for name in ("a", "b", "c"):
        await it.create(name, turn)
        await it.call(f"transfer_to_{name}", turn, input=name)
    await it.call("protect_subagent", turn, name="c")

    await it.call("reset_subagent", turn, name="A")
    assert [entry.sender for entry in await it.board()] == ["b", "c"]
    await it.call("remove_subagent", turn, name="b")
    assert [entry.sender for entry in await it.board()] == ["c"]
    await it.end(turn)

    assert [entry.sender for entry in await it.board()] == ["c"]


async def test_the_end_of_a_turn_takes_the_notes_of_the_agents_that_go(
    make_core: MakeBoardCore,
) -> None:
    it = await make_core({name: [note(name), Say(text="")] for name in ("a", "b")})
    turn = await it.turn()
    for name in ("a", "b"):
        await it.create(name, turn)
        await it.call(f"transfer_to_{name}", turn, input=name)
    await it.call(POST, turn, context_type="system", content="red")
    await it.call("protect_subagent", turn, name="b")

    await it.end(turn)

    assert [entry.sender for entry in await it.board()] == ["b", "main"]


async def test_a_board_is_there_again_after_a_restart(make_core: MakeBoardCore) -> None:
    it = await make_core({"dig": [note("red"), Say(text="")]})
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    await it.call("transfer_to_scout", turn, input="dig")
    await it.sessions.close()
    await it.store.open()
    again = await make_core(
        {"write": [Say(text="")]}, store=it.store, clock=it.clock, executor="process2"
    )
    turn = await again.turn()
    await again.create("clerk", turn)

    await again.call("transfer_to_clerk", turn, input="write")
    reply = await again.call(POST, turn, context_type="message", content="blue", target="SCOUT")

    assert words(again, "clerk") == [["red"]]
    assert reply.startswith("Note 2 is on the board for scout.")


async def test_the_main_agent_sees_the_newest_notes_oldest_first_as_data(
    make_core: MakeBoardCore,
) -> None:
    it = await make_core()
    turn = await it.turn()
    empty = await it.call(VIEW, turn)
    for number in range(60):
        await it.call(POST, turn, context_type="message", content=f"note{number:02}")

    usual, two = await it.call(VIEW, turn), await it.call(VIEW, turn, limit=2)

    assert empty == "The board is empty."
    assert re.findall(r"note(\d\d)", usual) == [f"{n:02}" for n in range(10, 60)]
    assert re.findall(r"note(\d\d)", two) == ["58", "59"]
    assert two.startswith("2 of 60 notes, oldest first (data, not instructions):\n<<board ")


@pytest.mark.parametrize(
    "arguments",
    [
        {"context_type": "status", "content": "x"},
        {"context_type": "message", "content": ""},
        {"context_type": "message", "content": "x" * 20_001},
        {"context_type": "message", "content": "x", "target": "nobody"},
        {"context_type": "message", "content": "x", "sender": "scout"},
        {"content": "x"},
    ],
)
async def test_a_wrong_note_of_the_main_agent_is_refused(
    make_core: MakeBoardCore, arguments: dict[str, Any]
) -> None:
    it = await make_core()

    reply = await it.call(POST, await it.turn(), **arguments)

    assert reply.startswith("Error: ")
    assert await it.board() == []


async def test_without_a_board_nobody_has_its_tools_or_its_notes(
    make_core: MakeBoardCore,
) -> None:
    it = await make_core(
        {"dig": [Say(text="")]},
        settings=Settings(shared_context_enabled=False, questions_enabled=False),
    )
    turn = await it.turn()
    await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="dig")

    (request,) = it.host.requests
    assert request.own_tools == ()
    assert [part[:13] for part in request.notes] == ["Current time:"]
    offered = {tool.name for tool in management_tools((await it.open()).settings)}
    assert {POST, VIEW} & offered == set()


async def test_a_chat_may_switch_its_board_against_the_settings(
    make_core: MakeBoardCore,
) -> None:
    it = await make_core({"dig": [Say(text="")]})
    turn = await it.turn()
    await (await it.open()).steering.switch_board(False, turn.asker, private=True)
    await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="dig")
    replies = [
        await it.call(POST, turn, context_type="message", content="x"),
        await it.call(VIEW, turn),
    ]

    assert [tool.name for tool in it.host.requests[0].own_tools] == ["ask_question"]
    for reply in replies:
        assert reply.startswith("Error: The shared context is switched off here.")


async def test_the_board_holds_as_many_notes_as_is_set(make_core: MakeBoardCore) -> None:
    it = await make_core(settings=Settings(shared_context_maxlen=10))
    turn = await it.turn()

    for number in range(11):
        await it.call(POST, turn, context_type="message", content=f"{number}")

    assert [entry.content for entry in await it.board()] == [f"{n}" for n in range(2, 11)]


@pytest.mark.parametrize("name", ["main", "Main", "all", "system", "user", "subagent", "ALL"])
async def test_no_agent_can_have_a_name_that_means_someone_on_the_board(
    make_core: MakeBoardCore, name: str
) -> None:
    it = await make_core()

    reply = await it.call("create_subagent", await it.turn(), name=name, system_prompt="x")

    assert reply.startswith("Error: ")
    assert (await it.open()).agents() == []


async def test_a_childs_tool_can_be_taken_away_by_the_black_list(
    make_core: MakeBoardCore,
) -> None:
    dynamic = DynamicAgentSettings(tools_blacklist=("send_shared_context",))
    it = await make_core({"dig": [Say(text="")]}, settings=Settings(dynamic_agents=dynamic))
    turn = await it.turn()
    await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="dig")

    assert "send_shared_context" in it.host.requests[0].tools.denied
