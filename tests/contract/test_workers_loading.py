"""What sharing needs is loaded when it is asked for; who lacks it is told what to install."""

import sys
import tomllib
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.workers.loading import load_sharing
from astrbot_plugin_subagents.manager.workers.pg_address import libpq_address

ROOT = Path(__file__).resolve().parents[2]
DSN = "postgresql://me:hunter2@db.example/bot"


def test_missing_packages_are_named_with_the_versions_of_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]["workers"]
    package = "astrbot_plugin_subagents.manager.workers."
    for name in tuple(sys.modules):
        if name.removeprefix(package) in ("postgres", "engine", "job_queue", "pg_schema"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "procrastinate", None)

    with pytest.raises(StoreUnavailable) as caught:
        load_sharing(DSN, home="ann", places=lambda in_hand: True)

    told = str(caught.value)
    assert [each for each in extra if each not in told] == ["asyncpg>=0.31,<1"]
    assert "pip install" in told
    assert "hunter2" not in told


def test_what_is_loaded_shows_no_password(caplog: pytest.LogCaptureFixture) -> None:
    shared = load_sharing(DSN, home="ann", places=lambda in_hand: True)

    assert shared.sharing.home == "ann"
    assert "hunter2" not in repr(shared) + repr(shared.sharing) + caplog.text


@pytest.mark.parametrize(
    ("dsn", "address"),
    [
        ("postgresql://me:p%40ss@db:5433/bot", "postgresql://me:p%40ss@db:5433/bot"),
        (
            "postgresql://db/bot?sslmode=require&connect_timeout=3",
            "postgresql://db/bot?sslmode=require&connect_timeout=3",
        ),
        (
            "postgresql://db/bot?search_path=my_bot",
            "postgresql://db/bot?options=-c%20search_path%3Dmy_bot",
        ),
        (
            "postgresql://db/bot?options=-c%20jit%3Doff&search_path=my%20bot",
            "postgresql://db/bot?options=-c%20jit%3Doff%20-c%20search_path%3Dmy%5C%20bot",
        ),
        ("postgresql://me@/bot?host=%2Ftmp", "postgresql://me@/bot?host=%2Ftmp"),
    ],
)
def test_the_store_s_address_is_told_as_libpq_reads_it(dsn: str, address: str) -> None:
    assert libpq_address(dsn) == address
