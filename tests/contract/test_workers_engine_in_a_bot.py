"""The engine in a bot: what only a real database, or a real bot, can do to it."""

import asyncio
import logging
import signal

import pytest

from astrbot_plugin_subagents.manager.models import RunId
from astrbot_plugin_subagents.manager.workers.engine import Pace
from support import stores, workforces
from support.workforces import Crew, Worker

pytestmark = [pytest.mark.postgres, stores.needs_server]
crew = workforces.crew

ONE, TWO = RunId("one"), RunId("two")


async def test_what_a_process_that_stops_has_in_hand_is_brought_to_another_at_once(
    crew: Crew,
) -> None:
    # Were it not brought, another would find it only by looking, which here takes minutes.
    slow = Pace(beat=60, stalled=300, poll=300, reconnect=60)
    ann = await (await crew.worker("ann", pace=slow)).works()
    await ann.workforce.send(ONE)
    assert await ann.next_begun() == ONE
    bob = await (await crew.worker("bob", pace=slow)).works()
    await bob.workforce.send(TWO, only="bob")
    assert await bob.next_begun() == TWO

    await ann.workforce.close()

    assert await ann.next_ended() == "cancelled one"
    assert await bob.next_begun() == ONE


async def test_an_error_in_one_run_keeps_no_other_from_being_executed(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    ann = await crew.worker("ann")

    async def break_the_first(run_id: RunId) -> None:
        if run_id == ONE:
            raise RuntimeError("broken")
        await ann.execute(run_id)

    await ann.workforce.send(ONE)
    await ann.workforce.send(TWO)
    await ann.workforce.start(break_the_first)

    assert await ann.next_begun() == TWO
    await _until_lost(ann, ONE)
    assert [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR] == [
        "Run one came to no end here"
    ]
    assert await ann.workforce.lost([ONE, TWO]) == [ONE]


async def _until_lost(worker: Worker, run_id: RunId) -> None:
    """Wait until nobody has the run in hand any more; that it ended is written behind its end."""
    async with asyncio.timeout(workforces.LIMIT_SECONDS):
        while run_id not in await worker.workforce.lost([run_id]):  # noqa: ASYNC110 # the server's
            await asyncio.sleep(0.02)


async def test_a_long_or_foreign_name_of_a_home_is_as_good_as_any(crew: Crew) -> None:
    name = "Büro-" + "x" * 100
    ann, bob = (
        await (await crew.worker(name)).works(),
        await (await crew.worker(name + "y")).works(),
    )

    await bob.workforce.send(ONE, only=name)
    await ann.workforce.send(TWO, only=name + "y")

    assert (await ann.next_begun(), await bob.next_begun()) == (ONE, TWO)


async def test_the_bot_around_it_keeps_its_signals_its_threads_and_its_log(crew: Crew) -> None:
    loop = asyncio.get_running_loop()

    def surroundings() -> list[object]:
        return [
            [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)],
            getattr(loop, "_default_executor", None),
            (logging.root.level, logging.root.handlers[:], logging.root.filters[:]),
            loop.get_exception_handler(),
        ]

    before = surroundings()
    ann = await (await crew.worker("ann")).works()
    await ann.workforce.send(ONE)
    assert await ann.next_begun() == ONE

    assert surroundings() == before
    await ann.workforce.close()
    assert surroundings() == before
