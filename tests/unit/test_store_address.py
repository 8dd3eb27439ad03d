"""Where a store is, and that its address stays a secret."""

import traceback
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.store.address import (
    FileAddress,
    ServerAddress,
    parse_address,
)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (Path("a/b.db"), "a/b.db"),
        ("a/b.db", "a/b.db"),
        ("/a/b 50%.db", "/a/b 50%.db"),
        ("C:\\bot\\b.db", "C:\\bot\\b.db"),
        ("sqlite:///b.db", "b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite+aiosqlite:////a/b.db", "/a/b.db"),
    ],
)
def test_paths_and_sqlite_urls_are_files(address: str | Path, path: str) -> None:
    assert parse_address(address) == FileAddress(path=Path(path))


@pytest.mark.parametrize("prefix", ["", "sqlite:///", "sqlite+aiosqlite:///"])
def test_a_path_may_begin_with_the_home_folder(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    assert parse_address(f"{prefix}~/bot/x.db") == FileAddress(path=tmp_path / "bot" / "x.db")
    assert parse_address(Path("~/x.db")) == FileAddress(path=Path("~/x.db"))


@pytest.mark.parametrize(
    "address",
    [
        "s3cret\0.db",
        "sqlite:///s3cret\0.db",
        "\ud800s3cret.db",
        "~nobody-s3cret/x.db",
        "postgresql://user:s3cret\0@host/name",
        "postgresql://user:s3cret\udfff@host/name",
        "postgresql://user:s3cret@a..b/name",
        f"postgresql://user:s3cret@{'h' * 300}/name",
        "postgresql:///name?host=/nowhere&port=s3cret",
    ],
)
async def test_an_address_that_cannot_be_is_refused_without_being_repeated(address: str) -> None:
    pytest.importorskip("asyncpg")

    with pytest.raises(StoreUnavailable) as refused:
        await SqlStore(address).open()

    shown = "".join(traceback.format_exception(refused.value))
    assert "s3cret" not in shown.replace("test_store_address.py", "")
    assert "its address" in refused.value.problem


async def test_a_path_that_leads_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    with pytest.raises(StoreUnavailable):
        await SqlStore(tmp_path / "a" / "x.db").open()


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("postgres://h/d", "postgresql://h/d"),
        ("postgresql://u:p%40@h:1/d", "postgresql://u:p%40@h:1/d"),
        ("postgresql+asyncpg://u@h/d?ssl=require", "postgresql://u@h/d?sslmode=require"),
        ("postgresql://h/d?search_path=x", "postgresql://h/d?search_path=x"),
    ],
)
def test_postgresql_urls_are_servers_in_the_words_of_libpq(url: str, dsn: str) -> None:
    assert parse_address(url) == ServerAddress(dsn=dsn)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://user:s3cret@host/name",
        "postgresql+psycopg://user:s3cret@host/name",
        "postgresql://user:s3cret@host:port/name",
        "postgresql://user:s3c#ret@host/name",
        "postgresql://user:s3cret@[host/name",
        "sqlite://user:s3cret@host/name",
    ],
)
async def test_other_urls_are_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        await SqlStore(url).open()

    shown = "".join(traceback.format_exception(refused.value))
    assert "s3c" not in shown


async def test_a_server_that_is_not_there_is_an_error_without_a_password() -> None:
    pytest.importorskip("asyncpg")
    store = SqlStore("postgresql://user:s3cret@127.0.0.1:1/name")

    with pytest.raises(StoreUnavailable) as refused:
        await store.open()

    shown = "".join(traceback.format_exception(refused.value))
    assert "s3cret" not in shown + repr(store) + repr(parse_address("postgresql://u:s3cret@h/d"))
    await store.close()
