"""Writers that share a transaction: when none can be begun, nobody waits for it twice."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import OperationalError

from astrbot_plugin_subagents.manager.store.group_commit import GroupCommit

BUSY_SECONDS = 0.3


class Begins:
    """Counts the attempts to begin a transaction, and can make all after some number fail."""

    def __init__(self) -> None:
        self.count = 0
        self.fail_after: int | None = None
        self.first = threading.Event()

    def begin(self, connection: Connection) -> None:
        self.count += 1
        self.first.set()
        if self.fail_after is not None and self.count > self.fail_after:
            raise OperationalError("BEGIN", None, sqlite3.OperationalError("database is locked"))
        connection.exec_driver_sql("BEGIN IMMEDIATE")


@pytest.fixture
def begins() -> Begins:
    return Begins()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with one empty table."""
    with closing(sqlite3.connect(tmp_path / "db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x INTEGER NOT NULL)")
    return tmp_path / "db"


@pytest.fixture
async def commits(file: Path, begins: Begins) -> AsyncIterator[GroupCommit]:
    """A group commit over a file, which gives up soon when another writes to it."""
    engine = create_engine(
        f"sqlite:///{file}",
        connect_args={
            "isolation_level": None,
            "timeout": BUSY_SECONDS,
            "check_same_thread": False,
        },
    )
    event.listen(engine, "begin", begins.begin)
    with ThreadPoolExecutor(1) as thread:
        connection = engine.connect()
        commits = GroupCommit(connection, thread)
        yield commits
        await commits.finish()
        connection.close()
        engine.dispose()


@pytest.fixture
def lock(file: Path) -> Iterator[sqlite3.Connection]:
    """Another program that is writing."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def insert(connection: Connection) -> int:
    return connection.execute(text("INSERT INTO t VALUES (1)")).rowcount


def insert_nothing(connection: Connection) -> int:
    return connection.execute(text("INSERT INTO t VALUES (NULL)")).rowcount


async def test_a_locked_file_refuses_all_that_wait_at_once_and_later_ones_are_written(
    commits: GroupCommit, begins: Begins, lock: sqlite3.Connection
) -> None:
    early = [asyncio.create_task(commits.run(insert)) for _ in range(5)]
    await asyncio.to_thread(begins.first.wait)
    late = [asyncio.create_task(commits.run(insert)) for _ in range(70)]

    outcomes = await asyncio.gather(*early, *late, return_exceptions=True)
    attempts = begins.count
    lock.execute("ROLLBACK")

    assert {type(outcome) for outcome in outcomes} == {OperationalError}
    assert attempts == 1
    assert await commits.run(insert) == 1


async def test_writes_that_get_their_own_transactions_are_refused_at_once_when_none_begins(
    commits: GroupCommit, begins: Begins
) -> None:
    begins.fail_after = 2

    outcomes = await asyncio.gather(
        commits.run(insert),
        commits.run(insert_nothing),
        commits.run(insert),
        commits.run(insert),
        return_exceptions=True,
    )

    assert outcomes[0] == 1
    assert [type(each) for each in outcomes[1:]] == [OperationalError] * 3
    assert begins.count == 3


async def test_a_write_that_fails_by_itself_takes_no_other_along(commits: GroupCommit) -> None:
    outcomes = await asyncio.gather(
        commits.run(insert),
        commits.run(insert_nothing),
        commits.run(insert),
        return_exceptions=True,
    )

    assert [outcomes[0], outcomes[2]] == [1, 1]
    assert isinstance(outcomes[1], Exception)
