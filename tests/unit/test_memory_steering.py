"""What people do to a session's memories and board: look, clear, switch; and who may."""

import pytest

from astrbot_plugin_subagents.manager import Asker, Settings
from astrbot_plugin_subagents.manager.errors import (
    AgentNotFound,
    FeatureOff,
    NotPermitted,
    StoreUnavailable,
)
from astrbot_plugin_subagents.manager.models import OwnerId, SessionId, SessionRecord
from astrbot_plugin_subagents.manager.steering import Steering
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import Say, Use, says
from support import core

make_core = core.make_core

ALICE = Asker(owner=OwnerId("alice"))
BOB = Asker(owner=OwnerId("bob"))
ROOT = Asker(owner=OwnerId("root"), is_admin=True)


async def record_of(it: core.Core) -> SessionRecord:
    record = await it.store.load_session(SessionId("chat"))
    assert record is not None
    return record


async def histories(it: core.Core, times: int = 1) -> list[int]:
    """How long a history a child gets, for so many tasks."""
    turn = await it.turn()
    before = len(it.host.requests)
    for _ in range(times):
        await it.call("transfer_to_scout", turn, input="x")
    await it.end(turn)
    return [len(request.history) for request in it.host.requests[before:]]


async def with_scout(it: core.Core) -> Steering:
    """A session with a protected agent of Alice's."""
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    await it.end(turn)
    return (await it.open()).steering


# ---- memory


async def test_the_memory_of_an_agent_is_read_oldest_first(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search", output="42"), Say(text="It is 42.")))
    steering = await with_scout(it)
    turn = await it.turn()
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="What is it?"))

    rows = await steering.memory("Scout", ALICE, private=False)
    newest = await steering.memory("scout", ALICE, private=False, newest=1)

    assert [row.body["role"] for row in rows] == ["user", "assistant", "tool", "assistant"]
    assert {row.run_id for row in rows} == {run_id}
    assert [row.body["content"] for row in newest] == ["It is 42."]


async def test_a_memory_is_cleared_by_a_reset(make_core: core.MakeCore) -> None:
    it = await make_core()
    steering = await with_scout(it)
    await histories(it)

    await (await it.open()).reset("scout", ALICE)

    assert await steering.memory("scout", ALICE, private=True) == []
    assert await histories(it) == [0]


async def test_there_is_no_memory_of_an_unknown_agent(make_core: core.MakeCore) -> None:
    it = await make_core()

    with pytest.raises(AgentNotFound):
        await (await it.open()).steering.memory("nobody", ROOT, private=True)


@pytest.mark.parametrize(
    ("name", "asker", "private", "allowed"),
    [
        ("scout", ALICE, False, True),
        ("scout", BOB, False, False),
        ("scout", BOB, True, True),
        ("scout", ROOT, False, True),
        ("guide", ALICE, False, False),
        ("guide", ALICE, True, True),
        ("guide", ROOT, False, True),
    ],
)
async def test_a_memory_is_for_its_owner_an_admin_and_whoever_is_alone_with_the_bot(
    make_core: core.MakeCore, name: str, asker: Asker, private: bool, allowed: bool
) -> None:
    it = await make_core(static=["guide"])
    steering = await with_scout(it)

    if allowed:
        assert await steering.memory(name, asker, private=private) == []
    else:
        with pytest.raises(NotPermitted):
            await steering.memory(name, asker, private=private)


@pytest.mark.parametrize("setting", [True, False])
async def test_memory_is_switched_for_the_session_and_back_to_the_settings(
    make_core: core.MakeCore, setting: bool
) -> None:
    it = await make_core(settings=Settings(history_enabled=setting))
    steering = await with_scout(it)
    await histories(it)
    seen = []

    for switch in (False, True, None):
        await steering.switch_memory(switch, ALICE, private=True)
        (length,) = await histories(it)
        seen.append((steering.memory_is_on(), length > 0, (await record_of(it)).memory_enabled))

    assert seen == [(False, False, False), (True, True, True), (setting, setting, None)]


# ---- the board


async def test_the_board_is_read_and_cleared_whole_or_by_sender(make_core: core.MakeCore) -> None:
    it = await make_core()
    steering = await with_scout(it)
    turn = await it.turn()
    manager = await it.open()
    for text in ("one", "two"):
        await manager.board.post("message", text, turn)
    children = manager.board.for_children()
    assert children is not None
    await children.post("message", "Found.", sender="scout", owner=ALICE.owner, limit=10)
    notes = [(note.sender, note.content) for note in steering.board(ROOT, private=False)]

    gone = await steering.clear_board(ROOT, private=False, sender="Scout")
    left = [note.content for note in steering.board(ALICE, private=True)]
    rest = await steering.clear_board(ALICE, private=True)

    assert notes == [("main", "one"), ("main", "two"), ("scout", "Found.")]
    assert (gone, left, rest) == (1, ["one", "two"], 2)
    assert steering.board(ROOT, private=False) == ()
    assert await it.store.load_shared_entries(SessionId("chat")) == []


@pytest.mark.parametrize("setting", [True, False])
async def test_the_board_is_switched_for_the_session_and_back_to_the_settings(
    make_core: core.MakeCore, setting: bool
) -> None:
    it = await make_core(settings=Settings(shared_context_enabled=setting))
    manager = await it.open()
    turn = await it.turn()
    seen = []

    for switch in (False, True, None):
        await manager.steering.switch_board(switch, ROOT, private=False)
        seen.append((manager.board.is_on, (await record_of(it)).board_enabled))
    if not setting:
        with pytest.raises(FeatureOff):
            await manager.board.post("message", "hello", turn)

    assert seen == [(False, False), (True, True), (setting, None)]


async def test_notes_stay_while_the_board_is_off_and_people_still_see_them(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    manager = await it.open()
    await manager.board.post("message", "hello", await it.turn())

    await manager.steering.switch_board(False, ALICE, private=True)

    assert [note.content for note in manager.steering.board(ALICE, private=True)] == ["hello"]


# ---- both


async def test_what_concerns_a_whole_group_is_for_admins(make_core: core.MakeCore) -> None:
    it = await make_core()
    steering = await with_scout(it)
    await (await it.open()).board.post("message", "hello", await it.turn())
    record = await record_of(it)

    with pytest.raises(NotPermitted):
        await steering.switch_memory(False, ALICE, private=False)
    with pytest.raises(NotPermitted):
        await steering.switch_board(False, ALICE, private=False)
    with pytest.raises(NotPermitted):
        steering.board(ALICE, private=False)
    with pytest.raises(NotPermitted):
        await steering.clear_board(ALICE, private=False)

    assert await record_of(it) == record
    assert len(steering.board(ROOT, private=False)) == 1


async def test_switches_outlive_a_restart_and_each_keeps_the_other(
    make_core: core.MakeCore,
) -> None:
    store = MemoryStore()
    it = await make_core(store=store)
    steering = await with_scout(it)
    await steering.switch_memory(False, ALICE, private=True)
    await steering.switch_board(False, ALICE, private=True)
    it.clock.advance(3600)
    turn = await it.turn()
    await it.end(turn)
    await it.sessions.close()

    again = await make_core(store=store, executor="process2", clock=it.clock)
    manager = await again.open()

    record = await record_of(again)
    assert (record.memory_enabled, record.board_enabled) == (False, False)
    assert record.last_active_at == it.clock.now()
    assert not manager.steering.memory_is_on()
    assert not manager.board.is_on


async def test_a_switch_that_cannot_be_stored_stays_as_it_was(make_core: core.MakeCore) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store)
    manager = await it.open()
    store.failing.add("save_session")

    with pytest.raises(StoreUnavailable):
        await manager.steering.switch_memory(False, ALICE, private=True)
    with pytest.raises(StoreUnavailable):
        await manager.steering.switch_board(False, ALICE, private=True)

    assert manager.steering.memory_is_on()
    assert manager.board.is_on


async def test_a_session_that_left_memory_comes_back_with_its_switches(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    steering = await with_scout(it)
    await steering.switch_memory(False, ALICE, private=True)
    await histories(it)
    for number in range(300):
        await it.open(f"chat{number}")
    assert it.sessions.loaded(SessionId("chat")) is None

    assert await histories(it, times=2) == [0, 0]
