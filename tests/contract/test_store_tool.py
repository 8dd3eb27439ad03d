"""The command line for the store: what it says, its exit codes, and that no password shows."""

import asyncio
import io
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.store.command import Terminal, main
from support import stores
from support.store_places import fill
from support.stores import CHAT, opened

empty_file = stores.empty_file

ROOT = Path(__file__).resolve().parents[2]
SECRET = "pa55word"
URL = f"postgresql://bot:{SECRET}@127.0.0.1:1/store"


@pytest.fixture
def path(tmp_path: Path, empty_file: Path) -> Path:
    """A store with one row of each kind."""
    path = Path(shutil.copy(empty_file, tmp_path / "store.db"))
    asyncio.run(fill(path))
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command did."""

    code: int
    output: str
    errors: str


def run(*arguments: str | Path, given: str = "", **environment: str) -> Said:
    output, errors = io.StringIO(), io.StringIO()
    terminal = Terminal(
        input=io.StringIO(given), output=output, errors=errors, environment=environment
    )
    code = main([str(each) for each in arguments], terminal)
    return Said(code=code, output=output.getvalue(), errors=errors.getvalue())


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_sound_store_is_told_as_such(path: Path) -> None:
    said = run("doctor", path)

    assert (said.code, said.errors) == (0, "")
    assert said.output.startswith("schema 0003, ")
    assert said.output.endswith("\nNothing is wrong.\n")


def test_what_is_wrong_is_told_with_what_would_be_done_and_done_when_asked(path: Path) -> None:
    change(path, "UPDATE turn_call SET turn_id = 'gone'")

    found, again = run("doctor", path), run("doctor", path)
    mended = run("doctor", path, "--mend")
    after = run("doctor", path)

    assert (found.code, mended.code, after.code) == (1, 0, 0)
    assert found == again
    assert "Wrong: 1\n- orphan (turn_call turn_id=gone): calls of a turn" in found.output
    assert "Nothing was changed." in found.output
    assert "Mended: 1\n- orphan (turn_call turn_id=gone)" in mended.output
    assert "gone" not in after.output


def test_of_very_many_findings_some_are_shown_and_all_are_counted(path: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 60)"
    rows = "SELECT 'gone ' || i, 'k', '', '', 'done', '', 0, '2026-03-01 12:00:00' FROM n"
    columns = "run_id, key, name, arguments, state, output, is_error, at"
    change(path, f"INSERT INTO run_step ({columns}) {numbers} {rows}")

    said = run("doctor", path)

    assert "Wrong: 60\n" in said.output
    assert said.output.count("- orphan (run_step run_id=gone ") == 50
    assert "- and 10 more\n" in said.output


def test_removed_rows_go_to_the_file_that_was_named(path: Path, tmp_path: Path) -> None:
    change(path, "UPDATE run_event SET payload = 'x'")

    run("doctor", path, "--mend", "--removed", tmp_path / "kept.jsonl")

    assert '"payload": "x"' in (tmp_path / "kept.jsonl").read_text()
    assert not path.with_name("store.db.removed.jsonl").exists()


def test_an_export_can_be_imported_from_a_file_or_through_a_pipe(
    path: Path, tmp_path: Path
) -> None:
    file, one, two = (tmp_path / name for name in ("export.jsonl", "one.db", "two.db"))

    to_file = run("export", path, "--file", file)
    to_pipe = run("export", path, "--session", CHAT)
    from_file = run("import", one, "--file", file)
    from_pipe = run("import", two, given=to_pipe.output)

    assert [each.code for each in (to_file, to_pipe, from_file, from_pipe)] == [0, 0, 0, 0]
    assert to_file.errors == "exported: 1 sessions with 13 rows\n"
    assert from_pipe.errors == "imported: 1 sessions with 13 rows\n"
    assert to_pipe.output == file.read_text("utf-8")
    assert run("export", one).output == run("export", two).output == to_pipe.output
    assert file.stat().st_mode & 0o077 == 0


def test_no_file_is_overwritten_and_no_half_of_one_is_left(path: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("mine")
    change(path, "UPDATE run_event SET payload = 'x'")

    onto, damaged = run("export", path, "--file", old), run("export", path, "--file", new)

    assert (onto.code, damaged.code) == (3, 3)
    assert "File exists" in onto.errors
    assert "`run_event`" in damaged.errors
    assert old.read_text() == "mine"
    assert not new.exists()


def test_a_session_that_is_there_needs_a_word_to_be_replaced(path: Path) -> None:
    text = run("export", path).output

    refused, replaced = (
        run("import", path, given=text),
        run("import", path, "--replace", given=text),
    )

    assert (refused.code, replaced.code) == (3, 0)
    assert CHAT in refused.errors


def test_bytes_that_are_no_text_are_a_line_that_cannot_be_taken(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    run("export", path, "--file", file)
    file.write_bytes(file.read_bytes().replace(b'"Scout"', b'"Sc\xffut"', 1))

    said = run("import", tmp_path / "new.db", "--file", file)

    assert said.code == 3
    assert said.errors.startswith("store: Line 3 ")


async def test_whoever_wants_to_change_a_store_in_use_is_told_to_stop_the_bot(
    tmp_path: Path, empty_file: Path
) -> None:
    path = shutil.copy(empty_file, tmp_path / "used.db")
    async with opened(SqlStore(path)):
        looked = await asyncio.to_thread(run, "doctor", path)
        pressed = await asyncio.to_thread(run, "vacuum", path)

    assert (looked.code, pressed.code) == (0, 3)
    assert pressed.errors.endswith("Stop the bot first.\n")


def test_free_room_is_given_back(path: Path) -> None:
    said = run("vacuum", path)

    assert said.code == 0
    assert said.output.startswith("before: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor",),
        ("doctor", ""),
        ("doctor", "one.db", "--url-env", "DATABASE_URL"),
        ("doctor", "--url-env", "NOT_SET"),
        ("doctor", "--url-env", "A_PATH"),
        ("doctor", "--url-env", "DATABASE_URL", "--mend"),
        ("doctor", URL),
        ("doctor", "one.db", f"POSTGRES+asyncpg://bot:{SECRET}@host/name"),
        ("export", f"--url-env={URL}"),
    ],
)
def test_what_does_not_fit_together_is_said_without_repeating_a_secret(
    arguments: tuple[str, ...],
) -> None:
    said = run(*arguments, DATABASE_URL=URL, A_PATH=f"bot:{SECRET}@host/name")

    assert said.code == 2
    assert said.errors.startswith("store: ")
    assert SECRET not in said.errors + said.output


@pytest.mark.parametrize(
    "url", [URL, f"mysql://bot:{SECRET}@host/name", f"postgresql://{SECRET}@[/"]
)
def test_a_server_is_named_by_a_variable_or_a_file_and_its_url_never_shows(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "url"
    file.write_text(f"{url}\n")

    for command in ("doctor", "export", "import", "vacuum"):
        for said in (run(command, "--url-env", "HERE", HERE=url), run(command, "--url-file", file)):
            assert said.code == 3
            assert said.errors.startswith("store: ")
            assert SECRET not in said.errors + said.output
    assert capsys.readouterr() == ("", "")


def test_it_runs_as_a_file_in_a_folder_of_any_name(path: Path, tmp_path: Path) -> None:
    home = tmp_path / "data" / "plugins" / "subagents-1.0 (a copy)"
    shutil.copytree(ROOT / "manager", home / "manager")
    for name in ("__init__.py", "store_tool.py"):
        shutil.copy(ROOT / name, home)
    # It is this folder's code that runs, and what lies beside it stands in nobody's way.
    command = home / "manager" / "store" / "command.py"
    command.write_text(command.read_text("utf-8").replace('"store_tool.py"', '"the copy"'), "utf-8")
    (home / "sqlalchemy.py").write_text("raise SystemExit('the wrong file')")

    def start(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        tool = home / "store_tool.py"
        return subprocess.run(
            [sys.executable, tool, *arguments], cwd=tmp_path, capture_output=True, text=True
        )

    helped, looked = start("--help"), start("doctor", "store.db")

    assert helped.stdout.startswith("usage: the copy ")
    assert (looked.returncode, looked.stderr) == (0, "")
    assert looked.stdout.endswith("Nothing is wrong.\n")
    assert start("doctor", "nothing.db").returncode == 3
