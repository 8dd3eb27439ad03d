"""The doctor of a SQLite file: its lock, its schema, its pages, and what a server would refuse."""

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine

from astrbot_plugin_subagents.manager.errors import StoreLocked, StoreTooNew, StoreUnavailable
from astrbot_plugin_subagents.manager.store import SqlStore, migrations
from astrbot_plugin_subagents.manager.store.address import FileAddress
from astrbot_plugin_subagents.manager.store.doctor import FindingKind, examine
from astrbot_plugin_subagents.manager.store.doctor_places import look
from astrbot_plugin_subagents.manager.store.doctor_space import vacuum
from astrbot_plugin_subagents.manager.store.migrations.versions import r0001_first_schema
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from support import stores
from support.store_places import fill
from support.stores import CHAT, NOON, a_taken_run, opened

empty_file = stores.empty_file
path = stores.own_file

TESTS = Path(__file__).parents[1]
NO_TEXT = "CAST(x'ff41' AS TEXT)"
"""Bytes that are no UTF-8."""


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def bytes_of(path: Path) -> dict[str, bytes]:
    """All files of the folder but what SQLite shares between connections."""
    files = [file for file in path.parent.iterdir() if file.suffix != ".db-shm"]
    return {file.name: file.read_bytes() for file in files}


def beside(path: Path) -> Path:
    """Where removed rows go if nothing else was said."""
    return path.with_name(f"{path.name}.removed.jsonl")


def removed_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in beside(path).read_text("ascii").splitlines()]


def others_may(file: Path) -> int:
    """What the group and all others may do with a file."""
    return file.stat().st_mode & 0o077


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        ("UPDATE run SET started_at = 'then'", "run_id=run1"),
        ("UPDATE run SET steps = 'many'", "run_id=run1"),
        ("UPDATE run SET background = 7", "run_id=run1"),
        (f"UPDATE run SET input = {NO_TEXT}", "run_id=run1"),
        ("UPDATE run SET input = x'00ff'", "run_id=run1"),
        (f"UPDATE run SET run_id = {NO_TEXT}", "run_id=\ufffdA"),
    ],
)
async def test_what_only_a_file_takes_is_damage_too(path: Path, statement: str, key: str) -> None:
    await fill(path)
    change(path, statement)

    found = await examine(path)
    mended = await examine(path, mend=True)

    assert (found.findings[0].kind, found.findings[0].key) == (FindingKind.DAMAGED, key)
    assert mended.is_sound
    assert removed_rows(path)[0]["table"] == "run"


async def test_removed_bytes_that_are_no_text_can_be_had_back_from_the_file(path: Path) -> None:
    await fill(path)
    change(path, f"UPDATE run SET input = {NO_TEXT}")

    await examine(path, mend=True)

    text = removed_rows(path)[0]["row"]["input"]
    assert text.encode("utf-8", "surrogateescape") == b"\xff\x41"


async def test_the_file_of_removed_rows_is_for_its_owner_and_grows(path: Path) -> None:
    await fill(path)
    for number in (1, 2):
        change(path, f"UPDATE message SET body = '[]' WHERE seq = {number}")
        await examine(path, mend=True)

    assert [row["row"]["seq"] for row in removed_rows(path)] == [1, 2]
    assert others_may(beside(path)) == 0


async def test_nothing_is_removed_when_it_cannot_be_kept_first(path: Path, tmp_path: Path) -> None:
    await fill(path)
    change(path, "UPDATE message SET body = '[]' WHERE seq = 3")

    with pytest.raises(StoreUnavailable):
        await examine(path, mend=True, removed=tmp_path / "no folder" / "removed.jsonl")

    assert [each.table for each in (await examine(path)).findings] == ["message"]


async def test_looking_does_not_change_a_byte_and_makes_no_file(path: Path) -> None:
    await fill(path)
    change(path, "UPDATE run SET origin = '[]'")
    before = bytes_of(path)

    await examine(path)

    assert bytes_of(path) == before


async def test_it_looks_while_a_bot_is_at_work_and_mends_only_when_it_is_gone(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        run = await a_taken_run(store)
        change(
            path, f"INSERT INTO run_step SELECT 1, 'gone', 'k', 'n', '', 'done', '', 0, '{NOON}'"
        )

        found = await examine(path)
        with pytest.raises(StoreLocked):
            await examine(path, mend=True)

        # the run is in the hands of who holds the store
        assert [each.table for each in found.findings] == ["run_step"]
        assert found == await examine(path)
        assert await store.get_run(CHAT, run.run_id) == run

    assert [each.table for each in (await examine(path, mend=True)).mended] == ["run_step"]


async def test_after_a_kill_it_sees_what_is_not_in_the_file_yet(path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "support.store_writer",
        str(path),
        cwd=TESTS,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        for _ in range(9):
            await process.stdout.readline()
        process.kill()
        await process.wait()
    before = bytes_of(path)

    report = await examine(path)

    assert report.size.wal > 0
    assert [each.kind for each in report.findings] == [FindingKind.UNFINISHED]
    assert "is gone" in report.findings[0].problem
    assert next(each.rows for each in report.tables if each.table == "run_step") >= 8
    assert bytes_of(path) == before


async def test_what_was_read_while_a_bot_started_is_read_again(path: Path) -> None:
    bots: list[sqlite3.Connection] = []

    def count(connection: Connection) -> int:
        if not bots:
            bots.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
            bots[0].execute(
                f"INSERT INTO session VALUES ('new', 0, 0, '{NOON}', '{NOON}', NULL, NULL)"
            )
        return int(connection.exec_driver_sql("SELECT count(*) FROM session").scalar_one())

    found = await look(FileAddress(path=path), count)

    bots[0].close()
    assert found == 1


async def test_a_file_of_a_later_version_or_of_another_program_is_left_alone(
    path: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.db"
    change(foreign, "CREATE TABLE guests (name TEXT)")
    change(path, f"UPDATE {migrations.VERSION_TABLE} SET version_num = '9000'")
    before = bytes_of(path)

    for each, schema in ((path, "9000"), (foreign, "")):
        report = await examine(each, mend=True)
        assert [finding.kind for finding in report.findings] == [FindingKind.SCHEMA]
        assert (report.schema, report.is_sound, report.mended) == (schema, False, ())
        with pytest.raises((StoreTooNew, StoreUnavailable)):
            await vacuum(FileAddress(path=each))
    assert bytes_of(path) == before


async def test_a_file_of_an_earlier_version_is_brought_up_to_date_only_by_mending(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        r0001_first_schema.upgrade(Operations(MigrationContext.configure(connection)))
        version = migrations.VERSION_TABLE
        connection.exec_driver_sql(f"CREATE TABLE {version} (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO {version} VALUES ('0001')")
    engine.dispose()

    found = await examine(path)
    mended = await examine(path, mend=True)

    assert (found.schema, mended.schema) == ("0001", migrations.HEAD)
    assert mended.mended == found.findings
    assert mended.findings == ()


async def test_a_broken_file_is_found_and_not_written_to(path: Path) -> None:
    await fill(path)
    with path.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * 4096 * 20)
    before = bytes_of(path)

    report = await examine(path, mend=True)

    assert {finding.kind for finding in report.findings} == {FindingKind.FILE}
    assert (report.is_sound, report.tables, report.mended) == (False, (), ())
    assert bytes_of(path) == before


async def test_what_is_no_store_at_all_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ann,\n" * 200)

    for name in ("nothing.db", "letter.txt", "."):
        with pytest.raises(StoreUnavailable):
            await examine(tmp_path / name)
    assert not (tmp_path / "nothing.db").exists()


async def test_free_room_is_told_and_given_back_when_asked(path: Path) -> None:
    async with opened(SqlStore(path)) as store:
        event = StoredEvent(session=CHAT, kind="big", payload={"text": "x" * 1_000_000}, at=NOON)
        await store.add_events([event] * 24)
        await store.delete_old(
            events_before=stores.at(1), steps_before=NOON, runs_before=NOON, limit=99
        )
        with pytest.raises(StoreLocked):
            await vacuum(FileAddress(path=path))

    found = await examine(path)
    before, after = await vacuum(FileAddress(path=path))

    assert [each.kind for each in found.findings] == [FindingKind.SPACE]
    assert found.is_sound
    assert before == found.size
    assert before.total > 20_000_000 > 1_000_000 > after.total
    assert (await examine(path)).findings == ()
