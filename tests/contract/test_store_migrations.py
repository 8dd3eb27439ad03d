"""How a store of another age is met: an empty one, an older one, a newer one, a foreign one."""

import asyncio
import hashlib
import logging
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from astrbot_plugin_subagents.manager.errors import StoreTooNew, StoreUnavailable
from astrbot_plugin_subagents.manager.store import SqlStore, migrations
from astrbot_plugin_subagents.manager.store.schema import metadata
from support import stores
from support.stores import CHAT, a_session, opened

empty_file = stores.empty_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path, empty_file: Path) -> Path:
    """An empty store of the newest schema."""
    return Path(shutil.copy(empty_file, tmp_path / "store.db"))


@contextmanager
def connected(path: Path) -> Iterator[Connection]:
    """A connection past any store."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def run_sql(path: Path, *statements: str) -> None:
    """Change a file past any store."""
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def revision_of(path: Path) -> str:
    """The revision that a file is stamped with."""
    connection = sqlite3.connect(path)
    [[revision]] = connection.execute(f"SELECT version_num FROM {migrations.VERSION_TABLE}")
    connection.close()
    return str(revision)


def test_the_newest_revision_is_the_one_named_in_the_code() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))

    assert ScriptDirectory.from_config(config).get_heads() == [migrations.HEAD]


def test_the_migrations_make_the_tables_of_the_schema(path: Path) -> None:
    with connected(path) as connection:
        options = {"version_table": migrations.VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)

        assert compare_metadata(context, metadata) == []


async def test_an_empty_file_gets_the_newest_schema(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()

    async with opened(SqlStore(path)) as store:
        await store.save_session(a_session())

    assert revision_of(path) == migrations.HEAD


async def test_a_file_stamped_with_no_revision_and_empty_is_brought_up_to_date(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    run_sql(path, f"CREATE TABLE {migrations.VERSION_TABLE} (version_num VARCHAR(32) NOT NULL)")

    async with opened(SqlStore(path)) as store:
        await store.save_session(a_session())

    assert revision_of(path) == migrations.HEAD


async def test_tables_without_a_revision_are_refused(path: Path) -> None:
    run_sql(path, f"DELETE FROM {migrations.VERSION_TABLE}")

    with pytest.raises(StoreUnavailable) as refused:
        await SqlStore(path).open()

    assert "tables that this plugin did not make" in refused.value.problem


def prints(folder: Path) -> dict[str, str]:
    """The fingerprint of each file, those of the lock and of SQLite's shared memory left out."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if not file.name.endswith((".lock", "-shm"))
    }


async def test_a_store_of_a_later_version_is_left_untouched(path: Path) -> None:
    run_sql(path, f"UPDATE {migrations.VERSION_TABLE} SET version_num = 'future'")
    before = prints(path.parent)

    with pytest.raises(StoreTooNew) as refused:
        await SqlStore(path).open()

    assert refused.value.found == "future"
    assert prints(path.parent) == before


async def test_a_later_version_that_was_killed_is_left_untouched_too(
    path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    killed = tmp_path_factory.mktemp("killed")
    writer = sqlite3.connect(path)
    with writer:
        writer.execute(f"UPDATE {migrations.VERSION_TABLE} SET version_num = 'future'")
    shutil.copytree(path.parent, killed, dirs_exist_ok=True)
    writer.close()
    before = prints(killed)

    with pytest.raises(StoreTooNew):
        await SqlStore(killed / path.name).open()

    assert f"{path.name}-wal" in before
    assert prints(killed) == before


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    # A view of that name is no table, so that only the migration itself runs into it.
    run_sql(path, "CREATE VIEW turn AS SELECT 1")

    with pytest.raises(StoreUnavailable):
        await SqlStore(path).open()

    run_sql(path, "DROP VIEW turn")
    async with opened(SqlStore(path)) as store:
        assert await store.load_session(CHAT) is None


async def test_several_stores_are_made_at_once_in_one_process(tmp_path: Path) -> None:
    new = [SqlStore(tmp_path / f"store{n}.db") for n in range(4)]

    await asyncio.gather(*(store.open() for store in new))

    assert [await store.load_session(CHAT) for store in new] == [None] * 4
    await asyncio.gather(*(store.close() for store in new))


def logging_setup() -> list[object]:
    """What a careless migration would change: levels, handlers and what is switched off."""
    loggers = [logging.root, *map(logging.getLogger, ("alembic", "sqlalchemy", __name__))]
    return [(logger.level, tuple(logger.handlers), logger.disabled) for logger in loggers]


async def test_migrating_leaves_logging_as_it_is(tmp_path: Path) -> None:
    before = logging_setup()

    async with opened(SqlStore(tmp_path / "store.db")):
        pass

    assert logging_setup() == before


async def test_an_up_to_date_store_opens_quickly(path: Path) -> None:
    async with opened(SqlStore(path)):
        pass

    before = time.process_time()
    async with opened(SqlStore(path)):
        pass

    assert time.process_time() - before < 0.3


def test_the_store_opens_under_the_name_by_which_astrbot_loads_it(tmp_path: Path) -> None:
    plugins = tmp_path / "data" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "astrbot_plugin_subagents").symlink_to(ROOT, target_is_directory=True)
    program = (
        "import asyncio\n"
        "from data.plugins.astrbot_plugin_subagents.manager.store import SqlStore\n"
        "async def main():\n"
        "    store = SqlStore('store.db')\n"
        "    await store.open()\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )

    subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        check=True,
        timeout=60,
    )

    assert revision_of(tmp_path / "store.db") == migrations.HEAD
