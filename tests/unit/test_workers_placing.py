"""Which process executes a run, and what the processes see of each other's notes and chats."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Asker, NewTask, RunState, Settings
from astrbot_plugin_subagents.manager.models import SessionId, SessionRecord
from astrbot_plugin_subagents.manager.settings import DynamicAgentSettings, WorkersSettings
from astrbot_plugin_subagents.manager.testing import EPOCH
from support import fleet as fleets
from support.core import settled
from support.fleet import HOME, OTHER, WORKER, Fleet, Process
from support.task_calls import a_fork_context, a_task

fleet = fleets.fleet

COMPLETED = RunState.COMPLETED
SENDING = "send_message_to_user"
TOOLS = ("search", "write", SENDING)


async def start_agent(home: Process, **agent: Any) -> None:
    """Make an agent and give it work in the background."""
    turn = await home.turn()
    await home.create("dan", turn, **agent)
    await home.begin(turn, "look", agent="dan")
    await settled()


async def test_a_run_that_may_call_a_pinned_tool_goes_to_its_home_from_the_start(
    fleet: Fleet,
) -> None:
    await fleet.process(WORKER, tools=TOOLS)
    home = await fleet.process(HOME, tools=TOOLS)

    await start_agent(home, tools=[SENDING])

    assert [place for place, _ in fleet.exchange.brought] == [HOME]


@pytest.mark.parametrize(("pinned", "place"), [(("write",), HOME), ((), WORKER)])
async def test_which_tools_are_pinned_can_be_set(
    fleet: Fleet, pinned: tuple[str, ...], place: str
) -> None:
    settings = Settings(workers=WorkersSettings(pinned_tools=pinned))
    await fleet.process(WORKER)
    home = await fleet.process(HOME, settings=settings)

    await start_agent(home, tools=["*"])

    assert [place for place, _ in fleet.exchange.brought] == [place]


async def test_a_pinned_run_waits_for_its_home_to_come_back(fleet: Fleet) -> None:
    worker = await fleet.process(WORKER, tools=TOOLS)
    home = await fleet.process(HOME, tools=TOOLS)
    await start_agent(home, tools=[SENDING])
    (_, run_id) = fleet.exchange.brought[0]

    await fleet.kill(home)
    assert worker.children.begun == []
    back = await fleet.process(HOME, tools=TOOLS)
    back.children.let("look")
    await settled()

    assert worker.children.begun == []
    row = await fleet.row(run_id)
    assert (row.state, row.executor) == (COMPLETED, "north 3")


@pytest.mark.parametrize("tools", [["write"], ["*"]])
async def test_a_process_that_lacks_a_tool_of_a_run_sends_it_to_its_home(
    fleet: Fleet, tools: list[str]
) -> None:
    worker = await fleet.process(WORKER, tools=("search",))
    home = await fleet.process(HOME)

    await start_agent(home, tools=tools)

    assert [place for place, _ in fleet.exchange.brought] == [WORKER, HOME]
    assert worker.children.begun == []
    assert home.children.begun == ["look"]
    (_, run_id) = fleet.exchange.brought[0]
    assert (await fleet.row(run_id)).fence == 1


async def test_a_process_that_lacks_the_model_of_a_run_sends_it_to_its_home(fleet: Fleet) -> None:
    settings = Settings(dynamic_agents=DynamicAgentSettings(default_provider_id="other"))
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME, settings=settings)
    home.host.providers = frozenset({"main", "big"})

    await start_agent(home, provider_id="big")

    assert [place for place, _ in fleet.exchange.brought] == [WORKER, HOME]
    assert worker.children.begun == []


async def test_at_home_a_run_begins_whatever_it_lacks(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    turn = await home.turn()
    await home.create("dan", turn, tools=["write"])
    home.host.tools = frozenset({"search"})

    await home.begin(turn, "look", agent="dan")
    await settled()

    assert home.children.begun == ["look"]


async def test_a_fork_goes_to_a_process_that_has_the_main_agents_tools(fleet: Fleet) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    turn = await home.turn()
    manager = await home.open()

    await manager.start_tasks(
        [NewTask(task="look", context="fork")],
        turn,
        background=True,
        fork_context=a_fork_context,
    )
    await settled()

    [request] = worker.host.requests
    assert request.fork is not None
    assert request.fork.messages[0]["content"] == "You are a helper."


async def test_a_note_is_seen_by_a_child_elsewhere_before_its_next_model_request(
    fleet: Fleet,
) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    turn = await home.turn()
    await home.begin(turn, "wait")
    await settled()

    await (await home.open()).board.post("message", "The key is red.", turn)
    worker.children.waits.set()
    await settled()

    assert any("The key is red." in note for note in worker.host.notes)


async def test_notes_of_several_processes_have_numbers_of_their_own(fleet: Fleet) -> None:
    fleet.exchange.is_losing_signals = True
    home = await fleet.process(HOME)
    other = await fleet.process(OTHER)
    turn = await home.turn()
    here, there = (await home.open()).board, (await other.open()).board

    numbers = [
        (await board.post("message", text, turn)).seq
        for board, text in ((here, "one"), (there, "two"), (here, "three"), (there, "four"))
    ]

    assert numbers == [1, 2, 3, 4]
    notes = [(note.seq, note.content) for note in there.notes()]
    assert notes == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]
    stored = await fleet.inner.load_shared_entries(SessionId("chat"))
    assert [note.content for note in stored] == ["one", "two", "three", "four"]


async def test_what_is_cleared_here_is_gone_there_and_later_notes_are_new_to_all(
    fleet: Fleet,
) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    turn = await home.turn()
    board = (await home.open()).board
    for text in ("The key is red.", "The door is blue."):
        await board.post("message", text, turn)
    await home.begin(turn, "wait")
    await settled()

    admin = Asker(owner=turn.asker.owner, is_admin=True)
    await (await home.open()).steering.clear_board(admin, private=False)
    note = await board.post("message", "The sea is green.", turn)
    worker.children.waits.set()
    await settled()

    assert note.seq == 3
    [news] = [note for note in worker.host.notes if "The sea is green." in note]
    assert "red" not in news


async def test_a_memory_that_a_member_writes_to_elsewhere_is_marked_at_home(fleet: Fleet) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    turn = await home.turn()
    await home.create("dan", turn)
    worker.children.let("look")
    await home.call("transfer_to_dan", turn, input="look")

    [config] = [each for each in (await home.open()).agents() if each.name == "dan"]
    assert config.member_memory
    assert worker.host.requests[0].member_rights


async def test_a_chat_that_turns_up_in_another_process_moves_there_with_its_runs(
    fleet: Fleet,
) -> None:
    worker = await fleet.process(WORKER)
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn("look")
    await settled()
    other = await fleet.process(OTHER)

    turn = await other.turn()
    await settled()
    assert await fleet.inner.home_of(turn.session) == OTHER
    assert home.sessions.loaded(turn.session) is None
    assert [run.run_id for run in (await other.open()).runs.live()] == [run_id]
    await other.end(turn)

    worker.children.let("look")
    await settled()
    assert other.brought() == [(run_id,)]
    assert home.brought() == []
    assert home.states(run_id) == [RunState.QUEUED, RunState.RUNNING]


async def test_what_its_old_home_was_executing_goes_on_when_a_chat_moves(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn("wait")
    await settled()
    other = await fleet.process(OTHER)
    home.children.waits.set()
    other.children.waits.set()

    turn = await other.turn()
    await other.end(turn)
    await settled()

    row = await fleet.row(run_id)
    assert row.state is COMPLETED
    assert home.brought() + other.brought() == [(run_id,)]


async def test_what_was_kept_before_there_were_homes_is_the_first_ones_that_starts(
    fleet: Fleet,
) -> None:
    home = await fleet.process(HOME)
    session = SessionId("old")
    turn = await home.turn(session="new")
    await fleet.inner.save_session(
        SessionRecord(session=session, created_at=EPOCH, last_active_at=EPOCH)
    )

    await fleet.process(OTHER)

    assert await fleet.inner.home_of(session) == OTHER
    assert await fleet.inner.home_of(turn.session) == HOME


async def test_a_start_leaves_the_chats_of_other_homes_alone(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    turn = await home.turn()
    await home.call("task", turn, tasks=[a_task("look")], background_task=True)
    await settled()

    other = await fleet.process(OTHER)
    await other.sessions.courier.start()
    await settled()

    assert other.sessions.all_loaded() == []
    assert len(await fleet.inner.open_turns()) == 1
    assert home.children.begun == ["look"]
