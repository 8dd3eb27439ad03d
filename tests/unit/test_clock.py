"""The real clock."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

from astrbot_plugin_subagents.plugin.clock import SystemClock


def test_it_tells_the_time_in_utc() -> None:
    now = SystemClock().now()

    assert now.tzinfo is UTC
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=5)


def test_ids_are_short_and_differ() -> None:
    ids = {SystemClock().new_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert all(re.fullmatch(r"[a-z0-9]{8,12}", each) for each in ids)


async def test_it_calls_back_once_the_time_has_come() -> None:
    clock, called = SystemClock(), asyncio.Event()
    begun = clock.monotonic()

    clock.call_at(begun + 0.02, called.set)
    async with asyncio.timeout(5):
        await called.wait()

    assert clock.monotonic() >= begun + 0.02


async def test_a_call_can_be_taken_back_also_after_it_was_made() -> None:
    clock, first, second = SystemClock(), asyncio.Event(), asyncio.Event()

    take_back = clock.call_at(clock.monotonic(), first.set)
    take_back()
    done = clock.call_at(clock.monotonic(), second.set)
    async with asyncio.timeout(5):
        await second.wait()
    done()

    assert not first.is_set()
