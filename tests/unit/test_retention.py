"""Old events, journals and runs go once a day, in batches; what is to be kept for ever stays."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import RunState, Settings
from astrbot_plugin_subagents.manager.daily import every_day
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.models import DeliveryState
from astrbot_plugin_subagents.manager.retention import Retention
from astrbot_plugin_subagents.manager.settings import RetentionSettings
from astrbot_plugin_subagents.manager.store import MemoryStore, RunWrite
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeClock, make_services
from support import core
from support.stores import CHAT, a_delivery, a_run, a_step

make_core = core.make_core

DAY = timedelta(days=1)
FOR_EVER = RetentionSettings(events_days=0, steps_days=0, runs_days=0)


class BatchStore(MemoryStore):
    """A store that has so many old rows, and remembers how it was asked for them."""

    def __init__(self, *batches: int) -> None:
        super().__init__()
        self.batches = list(batches)
        self.asked: list[dict[str, Any]] = []

    async def delete_old(self, **asked: Any) -> int:
        """See `Store.delete_old`."""
        self.asked.append(asked)
        return self.batches.pop(0) if self.batches else 0


class DailyClock(FakeClock):
    """A clock by which a test can wait until all is quiet for a day."""

    def pass_days(self, days: float) -> None:
        """Let days pass."""
        self.advance(days * DAY.total_seconds())


async def an_old_run(store: MemoryStore, finished: datetime) -> None:
    """A run that was over and delivered at that time, with a step and an event."""
    run = a_run(agent=None)
    await store.add_runs([run])
    over = core.replace(run, state=RunState.COMPLETED, finished_at=finished)
    delivery = a_delivery(over, state=DeliveryState.ACKNOWLEDGED)
    await store.write_run(RunWrite(run=over, steps=[a_step(over)], delivery=delivery))
    event = StoredEvent(session=CHAT, run_id=run.run_id, kind="run", payload={}, at=finished)
    await store.add_events([event])


async def left(store: MemoryStore) -> tuple[int, int, int]:
    """How many events, steps and runs there are."""
    runs = await store.list_runs(CHAT)
    steps = [await store.run_steps(run.run_id) for run in runs]
    return len(await store.events_after(0)), sum(map(len, steps)), len(runs)


async def sweep(store: MemoryStore, folder: Path, kept: RetentionSettings) -> int:
    """One sweep at the epoch; how many rows went."""
    await store.open()
    services = make_services(store, folder, settings=Settings(retention=kept))
    return await Retention(services).sweep()


async def test_it_asks_for_small_batches_until_nothing_is_left(tmp_path: Path) -> None:
    store = BatchStore(1_000, 1_000, 3)

    gone = await sweep(store, tmp_path, RetentionSettings())

    assert gone == 2_003
    assert len(store.asked) == 4
    assert [asked["limit"] for asked in store.asked] == [1_000] * 4


async def test_each_kind_goes_by_its_own_days(tmp_path: Path) -> None:
    store = BatchStore()

    await sweep(store, tmp_path, RetentionSettings(events_days=1, steps_days=2, runs_days=3))

    assert store.asked == [
        {
            "events_before": EPOCH - DAY,
            "steps_before": EPOCH - 2 * DAY,
            "runs_before": EPOCH - 3 * DAY,
            "limit": 1_000,
        }
    ]


@pytest.mark.parametrize(
    ("age", "expected"),
    [(2.9, (1, 1, 1)), (3.1, (0, 1, 1)), (7.1, (0, 0, 1)), (90.1, (0, 0, 0))],
)
async def test_what_is_older_than_the_settings_say_goes(
    tmp_path: Path, age: float, expected: tuple[int, int, int]
) -> None:
    store = MemoryStore()
    await store.open()
    await an_old_run(store, EPOCH - age * DAY)

    await sweep(store, tmp_path, RetentionSettings())

    assert await left(store) == expected


@pytest.mark.parametrize("days", [0, 36_500, 10**12])
async def test_none_is_for_ever_and_a_huge_number_as_good_as(tmp_path: Path, days: int) -> None:
    store = MemoryStore()
    await store.open()
    await an_old_run(store, EPOCH - 30 * 365 * DAY)
    kept = RetentionSettings(events_days=days, steps_days=days, runs_days=days)

    gone = await sweep(store, tmp_path, kept)

    assert (gone, await left(store)) == (0, (1, 1, 1))


async def test_what_went_before_the_store_failed_is_gone_and_the_error_is_told(
    tmp_path: Path,
) -> None:
    class FailingStore(BatchStore):
        async def delete_old(self, **asked: Any) -> int:
            """See `Store.delete_old`."""
            if len(self.asked) == 2:
                raise StoreUnavailable("the disk is full")
            return await super().delete_old(**asked)

    store = FailingStore(1_000, 1_000, 1_000)
    with pytest.raises(StoreUnavailable):
        await sweep(store, tmp_path, RetentionSettings())

    assert store.batches == [1_000]


async def test_a_start_deletes_what_is_old_and_so_does_each_day_after_it(
    make_core: core.MakeCore,
) -> None:
    store, clock = MemoryStore(), DailyClock()
    await store.open()
    await an_old_run(store, EPOCH - 89.5 * DAY)

    await make_core(store=store, clock=clock, settings=Settings(session_expiry_days=0))
    await core.settled()
    at_start = await left(store)
    clock.pass_days(0.9)
    await core.settled()
    before = await left(store)
    clock.pass_days(0.1)
    await core.settled()

    assert (at_start, before, await left(store)) == ((0, 0, 1), (0, 0, 1), (0, 0, 0))


async def test_new_settings_count_from_the_next_day_on(tmp_path: Path) -> None:
    store, clock = BatchStore(), DailyClock()
    kept = [FOR_EVER]
    services = core.replace(
        make_services(store, tmp_path, clock=clock),
        settings=lambda: Settings(retention=kept[-1]),
    )
    watching = asyncio.create_task(every_day(clock, Retention(services).sweep))
    await core.settled()

    kept.append(RetentionSettings(runs_days=1))
    clock.pass_days(1)
    await core.settled()
    watching.cancel()

    first, second = (asked["runs_before"] for asked in store.asked)
    assert first < EPOCH - 10_000 * DAY
    assert second == EPOCH


async def test_a_failure_of_one_job_leaves_the_others_and_the_next_day(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, done = DailyClock(), list[str]()

    async def fails() -> None:
        done.append("fails")
        raise StoreUnavailable("the disk is full")

    async def works() -> None:
        done.append("works")

    watching = asyncio.create_task(every_day(clock, fails, works))
    await core.settled()
    today = list(done)
    clock.pass_days(1)
    await core.settled()
    watching.cancel()

    assert today == ["fails", "works"]
    assert done == today * 2
    assert caplog.text.count("the next try is tomorrow") == 2


async def test_a_store_that_cannot_delete_keeps_no_bot_from_starting(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    trouble.failing |= {"delete_old", "idle_sessions"}

    it = await make_core(store=trouble.store)
    await core.settled()
    turn = await it.turn()
    await it.create("scout", turn)

    assert "delete_old" in trouble.calls
    assert "state: completed" in await it.call("transfer_to_scout", turn, input="x")
