"""What holds for the store in a PostgreSQL database alone: several processes, lost connections."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from astrbot_plugin_subagents.manager.errors import LostRun, StoreTooNew, StoreUnavailable
from astrbot_plugin_subagents.manager.models import RunState
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore, migrations
from astrbot_plugin_subagents.manager.store.schema import metadata
from support import stores
from support.stores import (
    CHAT,
    a_message,
    a_run,
    a_session,
    a_taken_run,
    on_server,
    opened,
    server_schema,
)

pytestmark = [pytest.mark.postgres, stores.needs_server]


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """The URL of an empty schema."""
    async with server_schema() as url:
        yield url


def schema_of(url: str) -> str:
    """The name of the schema."""
    return url.rpartition("search_path=")[2]


async def test_processes_that_start_at_once_make_the_schema_once(url: str) -> None:
    starting = [SqlStore(url) for _ in range(4)]

    await asyncio.gather(*(store.open() for store in starting))

    await starting[0].save_session(a_session())
    assert [await store.load_session(CHAT) for store in starting] == [a_session()] * 4
    await asyncio.gather(*(store.close() for store in starting))


async def test_the_migrations_make_the_tables_of_the_schema(url: str) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"version_table": migrations.VERSION_TABLE, "compare_type": True}
        return list(
            compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
        )

    settings = {"server_settings": {"search_path": schema_of(url)}}
    engine = create_async_engine(url.partition("?")[0], connect_args=settings)
    async with opened(SqlStore(url)), engine.connect() as connection:
        found = await connection.run_sync(differences)
    await engine.dispose()

    assert found == []


async def test_a_database_of_a_later_version_is_left_untouched(url: str) -> None:
    version = f"{schema_of(url)}.{migrations.VERSION_TABLE}"
    await on_server(f"CREATE TABLE {version} (version_num VARCHAR(32))")
    await on_server(f"INSERT INTO {version} VALUES ('future')")

    with pytest.raises(StoreTooNew):
        await SqlStore(url).open()

    tables = await on_server(
        f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema_of(url)}'"
    )
    assert [row["table_name"] for row in tables] == [migrations.VERSION_TABLE]


async def test_tables_of_another_program_are_refused_only_where_the_names_clash(url: str) -> None:
    await on_server(f"CREATE TABLE {schema_of(url)}.orders (id int)")
    async with opened(SqlStore(url)):
        pass
    await on_server(f"DELETE FROM {schema_of(url)}.{migrations.VERSION_TABLE}")

    with pytest.raises(StoreUnavailable) as refused:
        await SqlStore(url).open()

    assert "message" in refused.value.problem
    assert "orders" not in refused.value.problem


async def test_a_process_that_lost_its_run_to_another_writes_nothing(url: str) -> None:
    async with opened(SqlStore(url)) as here, opened(SqlStore(url)) as there:
        run = await a_taken_run(here)
        taken = await there.take_run(replace(run, executor="there"))
        assert taken is not None

        with pytest.raises(LostRun):
            await here.write_run(RunWrite(run=run, messages=[a_message(run, 1)]))
        await there.write_run(RunWrite(run=replace(taken, state=RunState.COMPLETED)))

        assert await here.unfinished_runs() == []
        assert await here.last_seq(run.conversation) == 0


async def connections_of(name: str, column: str = "pid") -> int:
    """How many connections an application holds, or what a function says of each."""
    return len(
        await on_server(f"SELECT {column} FROM pg_stat_activity WHERE application_name = '{name}'")
    )


async def test_dropped_connections_are_replaced_without_an_error(url: str) -> None:
    name = schema_of(url)
    async with opened(SqlStore(f"{url}&application_name={name}")) as store:
        await asyncio.gather(*(store.save_session(a_session()) for _ in range(8)))
        assert await connections_of(name, "pg_terminate_backend(pid)") > 1
        await asyncio.gather(*(store.save_session(a_session()) for _ in range(8)))
        assert await connections_of(name, "pg_terminate_backend(pid)") > 1
        assert await store.load_session(CHAT) == a_session()


async def test_closing_leaves_no_connection(url: str) -> None:
    name = schema_of(url)
    async with opened(SqlStore(f"{url}&application_name={name}")) as store:
        await store.add_runs([a_run()])
        assert await connections_of(name) > 0

    async with asyncio.timeout(5):
        while await connections_of(name):  # The server notices a little later.
            pass


async def test_an_unknown_database_is_named_in_the_error_and_no_password(url: str) -> None:
    address = url.partition("?")[0].replace("postgres@", "postgres:s3cret@")
    unknown = f"{address.rpartition('/')[0]}/no_such_database"

    with pytest.raises(StoreUnavailable) as refused:
        await SqlStore(unknown).open()

    assert "no_such_database" in refused.value.problem
    assert "s3cret" not in str(refused.value)
