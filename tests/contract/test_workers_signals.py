"""Each process that shares a store hears of what is new, and is told when it may have missed it."""

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.workers.ports import Signal
from support import postgres_server, stores, workforces
from support.postgres_server import PostgresServer
from support.workforces import AnyCrew, Crew, Worker, crew_of

private_server, private_cluster = postgres_server.private_server, postgres_server.private_cluster
crew = workforces.crew
any_crew = workforces.any_crew

RUN = Signal(kind="run", subject="r-1")
ORDER = Signal(kind="order", subject="r-2")
BOARD = Signal(kind="board", subject="telegram:GroupMessage:Büro #5")


@dataclass(slots=True)
class Listener:
    """What one subscriber was told."""

    said: asyncio.Queue[Signal | str] = field(default_factory=asyncio.Queue)

    def heard(self, signal: Signal) -> None:
        self.said.put_nowait(signal)

    def missed(self) -> None:
        self.said.put_nowait("missed")

    async def next(self) -> Signal | str:
        async with asyncio.timeout(workforces.LIMIT_SECONDS):
            return await self.said.get()


async def test_all_processes_hear_a_signal_and_the_own_one_too(any_crew: AnyCrew) -> None:
    ann, bob = await any_crew.worker("ann"), await any_crew.worker("bob")
    listeners = [listening(ann), listening(ann), listening(bob)]

    for signal in (RUN, ORDER, BOARD):
        await ann.signals.tell(signal)

    for listener in listeners:
        assert [await listener.next() for _ in range(3)] == [RUN, ORDER, BOARD]


async def test_who_has_ended_its_subscription_hears_nothing_more(any_crew: AnyCrew) -> None:
    ann = await any_crew.worker("ann")
    stays, goes = Listener(), Listener()
    end = ann.signals.subscribe(goes.heard, goes.missed)
    ann.signals.subscribe(stays.heard, stays.missed)

    end()
    await ann.signals.tell(RUN)

    assert await stays.next() == RUN
    assert goes.said.empty()


@pytest.mark.postgres
@stores.needs_server
async def test_an_error_of_one_subscriber_keeps_the_word_from_no_other(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    ann = await crew.worker("ann")

    def broken(signal: Signal) -> None:
        raise RuntimeError("broken")

    ann.signals.subscribe(broken, lambda: None)
    listener = listening(ann)

    await ann.signals.tell(RUN)

    assert await listener.next() == RUN
    assert [each.getMessage() for each in caplog.records] == ["Hearing a signal failed"]


@pytest.mark.postgres
@stores.needs_server
async def test_stores_in_other_schemas_of_a_database_hear_nothing(crew: Crew) -> None:
    async with stores.server_schema() as url, crew_of(url) as others:
        ann, stranger = await crew.worker("ann"), await others.worker("ann")
        own, foreign = listening(ann), listening(stranger)

        await ann.signals.tell(RUN)
        await stranger.signals.tell(ORDER)

        assert (await own.next(), await foreign.next()) == (RUN, ORDER)


@pytest.mark.postgres
@stores.needs_server
async def test_what_may_have_been_missed_while_the_connection_was_broken_is_said(
    crew: Crew,
) -> None:
    ann = await crew.worker("ann")
    listener = listening(ann)

    await break_listening()
    assert await listener.next() == "missed"

    await ann.signals.tell(RUN)
    assert await listener.next() == RUN


@pytest.mark.postgres
@stores.needs_server
@postgres_server.needs_programs
@pytest.mark.postgres
@stores.needs_server
async def test_telling_while_the_server_is_away_raises_nothing_and_is_logged_once(
    private_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with crew_of(await private_server.new_database()) as crew:
        ann, bob = await crew.worker("ann"), await crew.worker("bob")
        listener = listening(bob)
        await private_server.stop("immediate")

        await ann.signals.tell(RUN)
        await ann.signals.tell(ORDER)
        assert [each.levelno for each in caplog.records] == [logging.WARNING]

        await private_server.start()
        assert await listener.next() == "missed"
        await ann.signals.tell(BOARD)
        assert await listener.next() == BOARD


@pytest.mark.postgres
@stores.needs_server
async def test_two_processes_of_one_name_are_not_let_in_and_a_dead_one_lets_go_of_it(
    crew: Crew,
) -> None:
    first = await crew.worker("ann")

    with pytest.raises(StoreUnavailable, match="another process is at work that is called ann"):
        await crew.worker("ann")
    await first.part()

    assert listening(await crew.worker("ann")).said.empty()


def listening(worker: Worker) -> Listener:
    listener = Listener()
    worker.signals.subscribe(listener.heard, listener.missed)
    return listener


async def break_listening() -> None:
    """Break the connections that listen for signals."""
    await stores.on_server(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE '%pg_try_advisory_lock%' AND pid <> pg_backend_pid()"
    )
