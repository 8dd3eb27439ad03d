"""Errors of drivers and of the system, told in words."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.store.problems import translated


def problem_of(error: Exception, *driver_errors: type[Exception]) -> str:
    """How an error is told."""
    with pytest.raises(StoreUnavailable) as told, translated(*driver_errors):
        raise error
    assert told.value.__cause__ is error
    return told.value.problem


def test_a_full_database_is_told_as_a_full_disk() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA max_page_count = 1")

    with pytest.raises(StoreUnavailable) as told, translated():
        connection.execute("CREATE TABLE a (b)")
    connection.close()

    assert told.value.problem == "the disk is full"


def test_what_was_written_is_not_part_of_the_problem() -> None:
    engine = create_engine("sqlite://")
    with (
        pytest.raises(StoreUnavailable) as told,
        translated(),
        engine.connect() as connection,
    ):
        connection.execute(text("SELECT :secret FROM nowhere"), {"secret": "s3cret"})
    engine.dispose()

    assert told.value.problem == "SQLite says: no such table: nowhere"


def test_errors_of_the_system_name_the_file(tmp_path: Path) -> None:
    assert problem_of(TimeoutError()) == "the database did not answer in time"
    assert problem_of(ConnectionRefusedError(111, "Connection refused")) == "Connection refused"
    with pytest.raises(StoreUnavailable) as told, translated():
        (tmp_path / "none").open()
    assert told.value.problem == f"{tmp_path / 'none'}: No such file or directory"


def test_errors_of_a_driver_are_told_by_their_first_line() -> None:
    assert problem_of(KeyError("a\nb"), KeyError) == r"'a\nb'"
    assert problem_of(LookupError("Gone.\nHint: x"), LookupError) == "Gone"
    assert problem_of(LookupError(), LookupError) == "LookupError"


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(TypeError), translated():
        raise TypeError("a fault of ours")
