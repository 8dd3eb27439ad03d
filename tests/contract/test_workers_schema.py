"""procrastinate's tables stand beside the store's, and those of another version are not touched."""

from pathlib import Path

import pytest
from procrastinate.schema import SchemaManager

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from support import postgres_server, stores, workforces
from support.postgres_server import PostgresServer
from support.workforces import Crew, crew_of, on_database

private_server, private_cluster = postgres_server.private_server, postgres_server.private_cluster
crew = workforces.crew
pytestmark = [pytest.mark.postgres, stores.needs_server]

MIGRATIONS = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
BEFORE_NEWEST, NEWEST = (each.stem for each in MIGRATIONS[-2:])


async def test_the_store_s_own_schema_is_left_as_it_is(crew: Crew) -> None:
    tables = "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    before = await on_database(crew.url, tables)

    await crew.worker("ann")

    assert await on_database(crew.url, tables) == before == [(0,)]


async def test_tables_of_an_earlier_version_are_brought_up_to_date(crew: Crew) -> None:
    await crew.worker("ann")
    schema = await workforces.jobs_schema(crew.url)
    # What the newest migration makes is taken away, so that it has to do it again.
    trigger = f"{schema}.procrastinate_trigger_function_status_events_update_v1"
    await on_database(crew.url, f"DROP FUNCTION {trigger} CASCADE")
    await on_database(crew.url, f"COMMENT ON SCHEMA {schema} IS {mark(BEFORE_NEWEST)}")

    await crew.worker("bob")

    assert await comment_of(crew, schema) == "procrastinate " + NEWEST
    assert await on_database(crew.url, f"SELECT to_regproc('{trigger}') IS NULL") == [(False,)]


async def test_tables_of_a_later_version_are_refused_with_what_to_do(crew: Crew) -> None:
    await crew.worker("ann")
    schema = await workforces.jobs_schema(crew.url)
    await on_database(crew.url, f"COMMENT ON SCHEMA {schema} IS {mark('99.00.00_01_later')}")

    with pytest.raises(StoreUnavailable, match=r"pip install --upgrade 'procrastinate>=3\.10,<4'"):
        await crew.worker("bob")

    assert await comment_of(crew, schema) == "procrastinate 99.00.00_01_later"


async def test_tables_that_are_not_ours_are_left_alone(crew: Crew) -> None:
    schema = await workforces.jobs_schema(crew.url)
    await on_database(crew.url, f"CREATE SCHEMA {schema}")
    await on_database(crew.url, f"CREATE TABLE {schema}.somebody_s (id integer)")

    with pytest.raises(StoreUnavailable, match=f"{schema} holds tables that are not the plugin's"):
        await crew.worker("ann")


async def test_an_empty_schema_that_an_administrator_made_is_used(crew: Crew) -> None:
    schema = await workforces.jobs_schema(crew.url)
    await on_database(crew.url, f"CREATE SCHEMA {schema}")

    ann = await crew.worker("ann")

    assert await ann.workforce.lost([]) == []
    assert await comment_of(crew, schema) == "procrastinate " + NEWEST


@postgres_server.needs_programs
async def test_without_the_right_to_make_a_schema_the_text_says_who_must(
    private_server: PostgresServer,
) -> None:
    url = await private_server.new_database()
    await private_server.query("CREATE ROLE member LOGIN")
    async with crew_of(url) as owners, crew_of(url.replace("postgres@", "member@")) as members:
        with pytest.raises(
            StoreUnavailable, match="CREATE SCHEMA subagents_jobs AUTHORIZATION <user>"
        ):
            await members.worker("ann")

        await on_database(owners.url, "CREATE SCHEMA subagents_jobs AUTHORIZATION member")
        assert await (await members.worker("ann")).workforce.lost([]) == []


def mark(migration: str) -> str:
    return f"'procrastinate {migration}'"


async def comment_of(crew: Crew, schema: str) -> object:
    rows = await on_database(
        crew.url, f"SELECT obj_description('{schema}'::regnamespace, 'pg_namespace')"
    )
    return rows[0][0]
