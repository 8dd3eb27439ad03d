"""What a SQLite file and its disk can do to the store: an error that says what is wrong."""

import asyncio
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.models import Run
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore
from support import stores
from support.stores import (
    CHAT,
    a_message,
    a_run,
    a_taken_run,
    opened,
)

empty_file = stores.empty_file


@pytest.fixture
def path(tmp_path: Path, empty_file: Path) -> Path:
    """An empty store that nobody has opened."""
    return Path(shutil.copy(empty_file, tmp_path / "store.db"))


async def problem_of(path: Path) -> str:
    """Why a store cannot be opened."""
    with pytest.raises(StoreUnavailable) as refused:
        await SqlStore(path).open()
    return refused.value.problem


async def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    folder, noise, foreign = tmp_path / "folder", tmp_path / "noise.db", tmp_path / "foreign.db"
    folder.mkdir()
    noise.write_bytes(b"no database at all" * 300)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE conversations (id)")
    connection.close()
    before = (noise.read_bytes(), foreign.read_bytes())

    assert await problem_of(folder) == f"{folder} is a folder, not a file"
    assert await problem_of(noise) == "the file is no SQLite database"
    assert "conversations" in await problem_of(foreign)
    assert (noise.read_bytes(), foreign.read_bytes()) == before


def damage(path: Path) -> None:
    """Write noise over a quarter of the file."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xa5" * (size // 4))


async def test_a_damaged_file_is_named_as_such(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        await store.add_runs([a_run(f"run{n}", input="x" * 500) for n in range(300)])
    damage(path)

    async with opened(SqlStore(path)) as store:
        with pytest.raises(StoreUnavailable) as damaged:
            await store.list_runs(CHAT, limit=1000)

    assert damaged.value.problem == "the file is damaged"


@contextmanager
def a_plain_user() -> Iterator[None]:
    """Root may write to read-only files; so be somebody else for a while."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def forbid_writing(path: Path) -> None:
    """Make the file read-only, and its folder one that anybody may write to."""
    for folder in path.parents[:3]:
        folder.chmod(0o755)
    path.parent.chmod(0o777)
    path.chmod(0o444)


async def test_a_file_that_cannot_be_written_is_refused(path: Path) -> None:
    forbid_writing(path)

    with a_plain_user():
        problem = await problem_of(path)

    assert problem == f"{path}: Permission denied"


@contextmanager
def a_full_disk(largest_file: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_after_a_full_disk_the_store_goes_on_with_what_was_committed(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        runs = [await a_taken_run(store, f"run{n}") for n in range(8)]

        async def write(run: Run) -> None:
            message = a_message(run, 1, "x" * 100_000)
            await store.write_run(RunWrite(run=run, messages=[message]))

        with a_full_disk(largest_file=500_000):
            outcomes = await asyncio.gather(*map(write, runs), return_exceptions=True)
        refused = [run for run, outcome in zip(runs, outcomes, strict=True) if outcome]
        assert {type(outcome) for outcome in outcomes} == {type(None), StoreUnavailable}
        assert [await store.last_seq(run.conversation) for run in refused] == [0] * len(refused)

        await asyncio.gather(*map(write, refused))

    async with opened(SqlStore(path)) as store:
        assert [await store.last_seq(run.conversation) for run in runs] == [1] * 8
