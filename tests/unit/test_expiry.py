"""Sessions that nobody has used for long go, with all that was kept of them, and no others."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager import RunId, RunState, SessionId, Settings
from astrbot_plugin_subagents.manager.models import DeliveryState, SubAgentConfig
from astrbot_plugin_subagents.manager.store import MemoryStore, SqlStore, Store
from astrbot_plugin_subagents.manager.testing import FakeClock, Hang, Say, Use, says
from astrbot_plugin_subagents.manager.workdir import default_workdir, session_folder
from support import core

make_core = core.make_core

DAY = 86_400.0
OLD = SessionId("old")


class WatchedClock(FakeClock):
    """A clock that knows when the watch over the sessions has gone to sleep for a day."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        if when == self.monotonic() + DAY:
            self.asleep.set()
        return super().call_at(when, callback)


async def pass_days(it: core.Core, days: float) -> None:
    """Let days go by, and the watch look at the end of them."""
    assert isinstance(it.clock, WatchedClock)
    async with asyncio.timeout(core.LONG):
        await it.clock.asleep.wait()
        it.clock.asleep.clear()
        it.clock.advance(days * DAY)
        await it.clock.asleep.wait()


async def a_used_session(it: core.Core, session: str = OLD) -> tuple[SubAgentConfig, RunId]:
    """A session with a protected agent, a finished run, a note, and files."""
    turn = await it.turn(session=session)
    scout = await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="Go."))
    await (await it.open(session)).board.post("message", "Hello.", turn)
    await it.end(turn)
    return scout, RunId(run_id)


async def a_session(it: core.Core, session: str = OLD) -> None:
    """A session of which something is kept, but no folder."""
    turn = await it.turn(session=session)
    await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    await it.end(turn)


async def is_kept(it: core.Core, session: str = OLD) -> bool:
    return await it.store.load_session(SessionId(session)) is not None


@pytest.mark.parametrize("make_store", [MemoryStore, SqlStore])
async def test_an_unused_session_goes_with_all_that_was_kept_of_it(
    make_core: core.MakeCore, make_store: Callable[..., Store], tmp_path: Path
) -> None:
    store = make_store(*([tmp_path / "store.db"] if make_store is SqlStore else []))
    it = await make_core(
        says(Use(tool="search"), Say(text="done")), store=store, clock=WatchedClock()
    )
    scout, run_id = await a_used_session(it)
    folder = session_folder(it.services.files, OLD)
    (folder / "_images").mkdir()
    (folder / "_images" / "a.png").write_bytes(b"png")
    (folder / "_artifacts" / run_id).mkdir(parents=True)
    await pass_days(it, 20)
    await a_used_session(it, "young")

    await pass_days(it, 11)

    assert not await is_kept(it)
    assert await store.load_agents(OLD) == []
    assert await store.load_messages(scout.conversation, newest=10) == []
    assert await store.list_runs(OLD) == []
    assert await store.run_steps(run_id) == []
    assert await store.load_shared_entries(OLD) == []
    assert await store.load_deliveries(OLD, states=tuple(DeliveryState)) == []
    assert not folder.exists()
    assert it.sessions.loaded(OLD) is None
    assert await is_kept(it, "young")
    assert default_workdir(it.services.files, SessionId("young"), scout.name).is_dir()


async def test_whoever_comes_back_later_finds_an_empty_session(make_core: core.MakeCore) -> None:
    it = await make_core(clock=WatchedClock())
    await a_used_session(it)
    await pass_days(it, 31)

    turn = await it.turn(session=OLD)
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="Again.")

    assert it.host.requests[-1].history == ()
    assert (await it.open(OLD)).board.notes() == ()


@pytest.mark.parametrize(
    ("days", "passed", "kept"), [(0, 4000, True), (1, 2, False), (90, 89, True)]
)
async def test_the_setting_says_for_how_long_and_zero_is_for_ever(
    make_core: core.MakeCore, days: int, passed: int, kept: bool
) -> None:
    it = await make_core(clock=WatchedClock(), settings=Settings(session_expiry_days=days))
    await a_used_session(it)

    await pass_days(it, passed)

    assert await is_kept(it) is kept


async def test_a_number_of_days_beyond_every_calendar_keeps_all(make_core: core.MakeCore) -> None:
    it = await make_core(clock=WatchedClock(), settings=Settings(session_expiry_days=10**12))
    await a_used_session(it)

    await pass_days(it, 4000)

    assert await is_kept(it)


async def test_it_is_looked_once_a_day(make_core: core.MakeCore) -> None:
    it = await make_core(clock=WatchedClock())
    await a_used_session(it)

    kept = []
    for _ in range(32):
        await pass_days(it, 1)
        kept.append(await is_kept(it))

    assert kept == [True] * 30 + [False] * 2


async def test_it_is_looked_at_the_start_too(make_core: core.MakeCore) -> None:
    store = MemoryStore()
    before = await make_core(store=store, clock=WatchedClock())
    await a_used_session(before)
    await before.sessions.close()
    clock = WatchedClock()
    clock.advance(40 * DAY)

    it = await make_core(store=store, clock=clock)
    await clock.asleep.wait()

    assert not await is_kept(it)
    assert not session_folder(it.services.files, OLD).exists()


async def test_a_session_with_a_live_run_stays(make_core: core.MakeCore) -> None:
    hang = Hang()
    it = await make_core(
        says(hang, Say(text="late")),
        clock=WatchedClock(),
        settings=Settings(execution_timeout=0, idle_timeout=0),
    )
    turn = await it.turn(session=OLD)
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await hang.reached.wait()
    await it.end(turn)

    await pass_days(it, 100)
    assert await is_kept(it)

    hang.gate.set()
    await it.until_over(run_id)
    await pass_days(it, 1)
    assert run_id in await it.notes(await it.turn(session=OLD))


async def test_a_session_with_an_open_turn_stays(make_core: core.MakeCore) -> None:
    it = await make_core(clock=WatchedClock())
    await a_used_session(it)
    await it.turn(session=OLD)

    await pass_days(it, 100)

    assert await is_kept(it)


async def test_a_session_whose_result_could_not_be_stored_yet_stays(
    make_core: core.MakeCore,
) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store, clock=WatchedClock())
    turn = await it.turn(session=OLD)
    await it.create("scout", turn)
    store.failing.add("write_run")
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await it.until_over(run_id)
    await it.end(turn)
    store.failing.clear()

    await pass_days(it, 100)

    assert run_id in await it.notes(await it.turn(session=OLD))


async def test_use_that_the_store_does_not_know_of_yet_counts(make_core: core.MakeCore) -> None:
    it = await make_core(clock=WatchedClock())
    await a_used_session(it)
    it.clock.advance(300)
    await it.end(await it.turn(session=OLD))
    record = await it.store.load_session(OLD)
    assert record is not None
    assert record.last_active_at == it.clock.now() - timedelta(seconds=300)

    await pass_days(it, 30)
    assert await is_kept(it)

    await pass_days(it, 1)
    assert not await is_kept(it)


async def test_a_turn_that_begins_while_it_is_looked_saves_its_session(
    make_core: core.MakeCore,
) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store, clock=WatchedClock())
    await a_used_session(it)
    manager = await it.open(OLD)
    hold = store.hold("load_deliveries")
    going_by = asyncio.create_task(pass_days(it, 31))
    await hold.reached.wait()

    turn = await it.turn(session=OLD)
    hold.gate.set()
    await going_by

    assert await it.open(OLD) is manager
    assert [agent.name for agent in manager.agents()] == ["scout"]
    assert "completed" in await it.call("transfer_to_scout", turn, input="Still there?")


@pytest.mark.parametrize("change", ["run", "use", "nothing"])
async def test_what_another_process_did_while_it_was_looked_counts(
    make_core: core.MakeCore, change: str
) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store, clock=WatchedClock())
    _, run_id = await a_used_session(it)
    record, run = await store.inner.load_session(OLD), await store.inner.get_run(OLD, run_id)
    assert record is not None
    assert run is not None
    hold = store.hold("load_session")
    going_by = asyncio.create_task(pass_days(it, 31))
    await hold.reached.wait()

    if change == "run":
        await store.inner.add_runs([replace(run, run_id=RunId("new"), state=RunState.QUEUED)])
    elif change == "use":
        await store.inner.save_session(replace(record, last_active_at=it.clock.now()))
    hold.gate.set()
    await going_by

    assert (await store.inner.load_session(OLD) is not None) is (change != "nothing")


async def test_who_opens_a_session_that_is_being_deleted_gets_a_new_one(
    make_core: core.MakeCore,
) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store, clock=WatchedClock())
    await a_used_session(it)
    hold = store.hold("delete_session")
    going_by = asyncio.create_task(pass_days(it, 31))
    await hold.reached.wait()
    openings = [asyncio.create_task(it.open(OLD)) for _ in range(3)]
    await core.settled()
    waiting = [opening.done() for opening in openings]

    hold.gate.set()
    managers = [await opening for opening in openings]
    await going_by

    assert waiting == [False] * 3
    assert all(manager is managers[0] for manager in managers)
    assert it.sessions.loaded(OLD) is managers[0]
    assert managers[0].agents() == []


async def test_a_deletion_that_has_begun_is_finished_before_the_plugin_stops(
    make_core: core.MakeCore,
) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store, clock=WatchedClock())
    await a_used_session(it)
    hold = store.hold("delete_session")
    going_by = asyncio.create_task(pass_days(it, 31))
    await hold.reached.wait()

    closing = asyncio.create_task(it.sessions.close())
    await core.settled()
    hold.gate.set()
    await closing
    going_by.cancel()

    await store.open()
    assert not await is_kept(it)


async def test_more_sessions_than_are_asked_for_at_once_go_and_busy_ones_stay(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(clock=WatchedClock())
    for number in range(120):
        await a_session(it, f"chat{number}")
        if number < 70:
            await it.turn(session=f"chat{number}")

    await pass_days(it, 31)

    kept = [number for number in range(120) if await is_kept(it, f"chat{number}")]
    assert kept == list(range(70))


async def test_a_store_in_trouble_is_tried_again_the_next_day(
    make_core: core.MakeCore, caplog: pytest.LogCaptureFixture
) -> None:
    store = core.TroubledStore()
    it = await make_core(store=store.store, clock=WatchedClock())
    await a_used_session(it)
    store.failing.add("delete_session")

    await pass_days(it, 31)
    assert await is_kept(it)
    assert "the next try is tomorrow" in caplog.text

    store.failing.clear()
    await pass_days(it, 1)
    assert not await is_kept(it)


async def test_a_folder_that_cannot_be_deleted_keeps_its_session_for_the_next_day(
    make_core: core.MakeCore, caplog: pytest.LogCaptureFixture
) -> None:
    it = await make_core(clock=WatchedClock())
    await a_session(it)
    folder = session_folder(it.services.files, OLD)
    folder.write_text("not a folder")

    await pass_days(it, 31)
    assert await is_kept(it)
    assert "cannot be deleted" in caplog.text

    folder.unlink()
    await pass_days(it, 1)
    assert not await is_kept(it)


@pytest.mark.parametrize("inside", [True, False])
async def test_what_a_link_leads_to_is_left_alone(
    make_core: core.MakeCore, tmp_path: Path, inside: bool
) -> None:
    it = await make_core(clock=WatchedClock())
    await a_session(it)
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious.txt").write_text("here")
    folder = session_folder(it.services.files, OLD)
    if inside:
        (folder / "scout").mkdir(parents=True)
        (folder / "scout" / "link").symlink_to(other)
        (folder / "to_file").symlink_to(other / "precious.txt")
    else:
        folder.symlink_to(other)

    await pass_days(it, 31)

    assert not await is_kept(it)
    assert not folder.is_symlink()
    assert not folder.exists()
    assert (other / "precious.txt").read_text() == "here"


async def test_folders_of_other_sessions_are_left_alone(make_core: core.MakeCore) -> None:
    it = await make_core(clock=WatchedClock())
    for session in ("..", "", "a/../..", OLD):
        await a_session(it, session)
    (it.services.files / "stranger").mkdir()

    await pass_days(it, 31)

    assert not await is_kept(it)
    assert (it.services.files / "stranger").is_dir()
