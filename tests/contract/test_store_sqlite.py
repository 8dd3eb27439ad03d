"""What holds for the store in a SQLite file alone: its lock, its files, its threads."""

import asyncio
import shutil
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.errors import StoreLocked
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore
from support import stores
from support.stores import (
    CHAT,
    OTHER_CHAT,
    a_message,
    a_run,
    a_session,
    a_taken_run,
    opened,
)

empty_file = stores.empty_file

TESTS = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path, empty_file: Path) -> Path:
    """An empty store that nobody has opened."""
    return Path(shutil.copy(empty_file, tmp_path / "store.db"))


async def test_a_new_file_is_made_with_the_folders_above_it(tmp_path: Path) -> None:
    path = tmp_path / "a b" / "50% ?#é" / "store.db"

    async with opened(SqlStore(path)) as store:
        await store.save_session(a_session())

    async with opened(SqlStore(f"sqlite:///{path}")) as store:
        assert await store.load_session(CHAT) == a_session()


async def test_a_second_store_on_the_same_file_is_refused_until_the_first_is_closed(
    path: Path,
) -> None:
    first, second = SqlStore(path), SqlStore(path.parent / "." / path.name)
    await first.open()

    with pytest.raises(StoreLocked) as refused:
        await second.open()
    await second.close()
    await first.save_session(a_session())
    await first.close()

    assert refused.value.path == str(path)
    async with opened(second):
        assert await second.load_session(CHAT) == a_session()


@asynccontextmanager
async def writing_process(path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that writes to the store, killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "support.store_writer",
        str(path),
        cwd=TESTS,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"open\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_killed_process_loses_neither_what_was_committed_nor_the_lock(path: Path) -> None:
    async with asyncio.timeout(20), writing_process(path) as process:
        assert process.stdout is not None
        with pytest.raises(StoreLocked):
            await SqlStore(path).open()
        for _ in range(40):
            committed = int(await process.stdout.readline())
        process.kill()
        rest = await process.stdout.read()

    committed = int(rest.split()[-1]) if rest.endswith(b"\n") else committed
    async with opened(SqlStore(path)) as store:
        run = await store.get_run(CHAT, a_run().run_id)
        assert run is not None
        messages = await store.load_messages(run.conversation, newest=10_000)
        steps = await store.run_steps(run.run_id)
    assert len(messages) >= committed >= 40
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    assert len(steps) == len(messages)


async def test_closing_leaves_one_file_no_handle_and_no_thread(path: Path) -> None:
    before = set(threading.enumerate())
    async with opened(SqlStore(path)) as store:
        await store.save_session(a_session())
        await asyncio.gather(*(store.load_session(CHAT) for _ in range(9)))
        assert len(files_of(path)) > 2

    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before
    assert files_of(path) <= {path.name, f"{path.name}.lock"}
    assert not any(handle.is_relative_to(path.parent) for handle in handles())


def files_of(path: Path) -> set[str]:
    """The store's file and those beside it."""
    return {file.name for file in path.parent.iterdir()}


def handles() -> list[Path]:
    """What this process has open, where the system tells."""
    folder = Path("/proc/self/fd")
    links = list(folder.iterdir()) if folder.exists() else []
    return [link.readlink() for link in links if link.is_symlink()]


async def test_after_cancelled_writes_no_transaction_stays_open(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        runs = [await a_taken_run(store, f"run{n}") for n in range(40)]
        for steps, run in enumerate(runs):
            write = RunWrite(run=run, messages=[a_message(run, 1)])
            writing = asyncio.create_task(store.write_run(write))
            for _ in range(steps):
                await asyncio.sleep(0)
            writing.cancel()
            await asyncio.wait((writing,))
        await store.save_session(a_session())

        other = sqlite3.connect(path, timeout=0, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.close()


async def test_a_write_that_is_cancelled_before_it_began_is_not_made(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        kept = asyncio.create_task(store.save_session(a_session(CHAT)))
        taken_back = asyncio.create_task(store.save_session(a_session(OTHER_CHAT)))
        await asyncio.sleep(0)
        taken_back.cancel()
        await kept

        assert await store.load_session(CHAT) == a_session(CHAT)
        assert await store.load_session(OTHER_CHAT) is None


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
async def test_opening_can_be_cancelled_at_any_point(path: Path, steps: int) -> None:
    store = SqlStore(path)
    opening = asyncio.create_task(store.open())
    for _ in range(steps):
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait((opening,))
    await store.close()

    async with opened(SqlStore(path)) as another:
        await another.save_session(a_session())


async def test_closing_goes_on_when_its_caller_is_cancelled(path: Path) -> None:
    store = SqlStore(path)
    await store.open()
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait((closing,))

    await store.close()

    async with opened(SqlStore(path)) as another:
        assert await another.load_session(CHAT) is None
