"""The workforce where processes die, seem to have died, and PostgreSQL goes away for a while."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.models import RunId
from astrbot_plugin_subagents.manager.workers.engine import Pace
from support import postgres_server, stores, workforces
from support.postgres_server import PostgresServer
from support.worker_process import WorkerProcess
from support.workforces import Crew, crew_of

private_server, private_cluster = postgres_server.private_server, postgres_server.private_cluster
crew = workforces.crew
pytestmark = [pytest.mark.postgres, stores.needs_server, postgres_server.needs_programs]

ONE, TWO = RunId("one"), RunId("two")


async def test_what_a_killed_process_had_in_hand_is_brought_to_another(crew: Crew) -> None:
    killed = await WorkerProcess.begun(crew.url, "ann")
    bob = await crew.worker("bob")
    await bob.workforce.send(ONE)
    assert await killed.says() == "began one"
    await bob.workforce.start(bob.execute)

    await killed.kill()

    assert await bob.next_begun() == ONE


async def test_a_process_that_was_taken_for_dead_does_not_end_the_work_of_its_successor(
    crew: Crew,
) -> None:
    frozen = await WorkerProcess.begun(crew.url, "ann")
    bob = await crew.worker("bob")
    await bob.workforce.send(ONE)
    assert await frozen.says() == "began one"
    await bob.workforce.start(bob.execute)
    frozen.freeze()
    assert await bob.next_begun() == ONE

    frozen.finish(ONE)
    frozen.thaw()
    assert await frozen.says() == "ended one"
    # It works on like any other: what it does next is after its vain try to end the run.
    await bob.workforce.send(TWO, only="ann")
    assert await frozen.says() == "began two"

    assert await bob.workforce.lost([ONE]) == []
    bob.finish(ONE)
    assert await bob.next_ended() == ONE
    await frozen.kill()


async def test_a_process_that_was_taken_for_dead_gets_its_own_run_back_and_goes_on(
    crew: Crew,
) -> None:
    # Nobody else has a place, so that the run comes back to the one that is at it.
    frozen = await WorkerProcess.begun(crew.url, "ann")
    bob = await (await crew.worker("bob", places=0)).works()
    await bob.workforce.send(ONE)
    assert await frozen.says() == "began one"
    frozen.freeze()
    await until_brought_again(crew)
    frozen.thaw()

    await bob.workforce.send(TWO, only="ann")
    assert await frozen.says() == "began two"
    frozen.finish(ONE)

    assert await frozen.says() == "ended one"
    await frozen.kill()


def hear(words: str, caplog: pytest.LogCaptureFixture) -> asyncio.Event:
    """Set once somebody logs a line that begins so."""
    heard = asyncio.Event()

    def look(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith(words):
            heard.set()
        return True

    caplog.handler.addFilter(look)
    return heard


async def test_a_restart_of_the_server_ends_no_run_and_brings_none_to_another(
    private_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "astrbot_plugin_subagents")
    came_back = hear("The database can be reached again", caplog)
    async with crew_of(await private_server.new_database()) as crew:
        ann = await (await crew.worker("ann")).works()
        bob = await (await crew.worker("bob", places=1)).works()
        await ann.workforce.send(ONE, only="ann")
        assert await ann.next_begun() == ONE

        await private_server.stop("immediate")
        with pytest.raises(StoreUnavailable):
            await ann.workforce.send(TWO)
        with pytest.raises(StoreUnavailable):
            await ann.workforce.lost([TWO])
        await asyncio.sleep(2 * workforces.QUICK.stalled)  # for so long all were dead to each other
        await private_server.start()
        await again(lambda: bob.workforce.send(TWO, only="bob"))

        assert await bob.next_begun() == TWO
        ann.finish(ONE)
        assert await ann.next_ended() == ONE
        bob.finish(TWO)
        assert await bob.next_ended() == TWO
        assert (ann.began.qsize(), bob.began.qsize()) == (0, 0)
        async with asyncio.timeout(workforces.LIMIT_SECONDS):
            await came_back.wait()
    told = [each.getMessage().split(":")[0] for each in caplog.records]
    assert sorted(set(told)) == [
        "Runs cannot be shared now, which is tried again by itself",
        "The database can be reached again",
    ]


async def test_a_run_that_ends_while_the_server_is_away_is_not_executed_again(
    private_server: PostgresServer,
) -> None:
    async with crew_of(await private_server.new_database()) as crew:
        ann = await (await crew.worker("ann")).works()
        await ann.workforce.send(ONE)
        assert await ann.next_begun() == ONE
        await private_server.stop("immediate")

        ann.finish(ONE)
        assert await ann.next_ended() == ONE
        await private_server.start()
        await again(lambda: ann.workforce.send(TWO))

        assert await ann.next_begun() == TWO
        assert ann.began.empty()


async def test_parting_while_the_server_is_away_takes_a_short_time_and_loses_nothing(
    private_server: PostgresServer,
) -> None:
    pace = Pace(beat=0.1, stalled=0.8, poll=0.5, reconnect=0.1, answer=1.0, close=0.2)
    async with crew_of(await private_server.new_database()) as crew:
        ann = await (await crew.worker("ann", pace=pace)).works()
        await ann.workforce.send(ONE)
        assert await ann.next_begun() == ONE
        await private_server.stop("immediate")

        async with asyncio.timeout(5):
            await ann.workforce.close()
        await private_server.start()

        bob = await (await crew.worker("bob")).works()
        assert await bob.next_begun() == ONE


async def test_without_a_server_the_first_connection_says_what_is_wrong(
    private_server: PostgresServer,
) -> None:
    url = await private_server.new_database()
    async with crew_of(url) as crew:
        await private_server.stop("immediate")
        with pytest.raises(StoreUnavailable, match="refused"):
            await crew.worker("ann")
        await private_server.start()


async def until_brought_again(crew: Crew) -> None:
    """Wait until a stalled job has been put into the queue anew."""
    schema = await workforces.jobs_schema(crew.url)
    async with asyncio.timeout(workforces.LIMIT_SECONDS):
        while not await workforces.on_database(
            crew.url, f"SELECT FROM {schema}.procrastinate_jobs WHERE status = 'todo'"
        ):
            continue


async def again(call: Callable[[], Awaitable[None]]) -> None:
    """Do it until the connections have noticed that the server is back."""
    async with asyncio.timeout(workforces.LIMIT_SECONDS):
        while True:
            try:
                await call()
            except StoreUnavailable:
                continue
            return
