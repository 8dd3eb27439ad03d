"""A store that the first schema's version made, with rows of all kinds, opens and keeps them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from astrbot_plugin_subagents.manager.models import (
    DeliveryState,
    GroupId,
    Run,
    RunId,
    RunKind,
)
from astrbot_plugin_subagents.manager.store import SqlStore, Store, migrations
from astrbot_plugin_subagents.manager.store.migrations.versions import r0001_first_schema
from astrbot_plugin_subagents.manager.task_shape import TaskShape
from support import stores
from support.stores import (
    CHAT,
    OTHER_CHAT,
    a_delivery,
    a_message,
    a_note,
    a_run,
    a_session,
    a_step,
    an_agent,
    at,
    on_server,
    opened,
    server_schema,
)

empty_file = stores.empty_file

TIME = "'2026-03-01 12:00:00.000000+00:00'"

RUN_COLUMNS = """
    run_id, session, agent, agent_key, conversation, kind, parent, group_id, depends_on,
    background, state, input, image_urls, owner, origin, created_at, started_at, finished_at,
    model, steps, input_tokens, cached_tokens, output_tokens, tools_given, tools_used,
    last_text, artifacts, question, cut_short, failure_code, failure_message, executor, fence
"""
REST_OF_A_RUN = f"""
    'queued', 'Look around.', '[]', 'ann', '{{}}', {TIME}, NULL, NULL,
    '', 0, 0, 0, 0, 0, '[]', '', '[]', '', '', NULL, NULL, '', 0
"""

ROWS = f"""
INSERT INTO session VALUES ('{CHAT}', NULL, NULL, {TIME}, {TIME});
INSERT INTO subagent (
    session, name_key, name, system_prompt, description, tools, skills, workdir, provider_id,
    persona_id, kind, protected, owner, conversation, member_memory, created_at
) VALUES (
    '{CHAT}', 'scout', 'Scout', 'You look around.', '', '[]', '[]', '', '',
    '', 'dynamic', false, 'ann', 'memory of Scout', false, {TIME}
);
INSERT INTO message VALUES (
    'talk of old', 1, '{CHAT}', 'old', '{{"role":"user","content":"Hello."}}', {TIME}
);
INSERT INTO shared_entry VALUES (
    '{CHAT}', 1, 'message', 'Scout', 'scout', 'ann', 'all', 'Note 1.', {TIME}
);
INSERT INTO run ({RUN_COLUMNS}) VALUES (
    'old', '{CHAT}', 'Scout', 'scout', 'talk of old', 'delegate', NULL, NULL, '[]',
    false, {REST_OF_A_RUN}
);
INSERT INTO run ({RUN_COLUMNS}) VALUES (
    'grouped', '{OTHER_CHAT}', NULL, NULL, 'talk of grouped', 'task', NULL, 'group', '["old"]',
    true, {REST_OF_A_RUN}
);
INSERT INTO run_step (run_id, key, name, arguments, state, output, is_error, at)
    VALUES ('old', '1.call', 'search', '', 'done', '', false, {TIME});
INSERT INTO run_event (session, run_id, kind, payload, at)
    VALUES ('{CHAT}', 'old', 'run', '{{}}', {TIME});
INSERT INTO delivery (
    delivery_id, session, owner, state, taker, lease_until, attempts, created_at
) VALUES ('old', '{CHAT}', 'ann', 'pending', '', NULL, 0, {TIME})
"""
"""Some of all that was written under the first schema, as it was written."""

OLD = a_run("old")
GROUPED: Run = a_run(
    "grouped",
    session=OTHER_CHAT,
    agent=None,
    kind=RunKind.TASK,
    group_id=GroupId("group"),
    depends_on=(RunId("old"),),
    background=True,
)


def make_first(connection: Connection) -> None:
    """Make a store of the first schema with rows, past all that knows a later one."""
    context = MigrationContext.configure(connection)
    r0001_first_schema.upgrade(Operations(context))
    version = migrations.VERSION_TABLE
    connection.exec_driver_sql(f"CREATE TABLE {version} (version_num VARCHAR(32) NOT NULL)")
    for statement in (f"INSERT INTO {version} VALUES ('0001')", *ROWS.split(";")):
        connection.exec_driver_sql(statement)


async def assert_all_is_there(store: Store) -> None:
    """Every row is read as the record that was written, and new ones can be written."""
    assert await store.load_session(CHAT) == a_session()
    assert await store.load_agents(CHAT) == [an_agent()]
    assert await store.load_messages(OLD.conversation, newest=9) == [a_message(OLD, 1)]
    assert await store.load_shared_entries(CHAT) == [a_note(1)]
    assert await store.unfinished_runs() == [OLD, GROUPED]
    assert await store.list_runs(OTHER_CHAT, group=GroupId("group")) == [GROUPED]
    assert await store.run_steps(OLD.run_id) == [a_step(OLD)]
    deliveries = await store.load_deliveries(CHAT, states=[DeliveryState.PENDING])
    assert deliveries == [a_delivery(OLD)]

    new = a_run("new", task=TaskShape(label="1", position=0), created_at=at(1))
    await store.add_runs([new])
    assert await store.list_runs(CHAT) == [new, OLD]


async def test_a_file_of_the_first_schema_keeps_every_row(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        make_first(connection)
    engine.dispose()

    async with opened(SqlStore(path)) as store:
        await assert_all_is_there(store)
    async with opened(SqlStore(path)) as store:
        assert len(await store.unfinished_runs()) == 3

    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM run_event").fetchone() == (1,)


@pytest.mark.postgres
@stores.needs_server
async def test_a_database_of_the_first_schema_keeps_every_row() -> None:
    async with server_schema() as url:
        schema = url.rpartition("search_path=")[2]
        settings = {"server_settings": {"search_path": schema}}
        engine = create_async_engine(url.partition("?")[0], connect_args=settings)
        async with engine.begin() as connection:
            await connection.run_sync(make_first)
        await engine.dispose()

        async with opened(SqlStore(url)) as here, opened(SqlStore(url)) as there:
            await assert_all_is_there(here)
            assert len(await there.unfinished_runs()) == 3

        [[events]] = await on_server(f"SELECT count(*) FROM {schema}.run_event")
        assert events == 1
