"""Brings a database to the newest schema, with Alembic as a library.

Revisions are in `versions/`; each has `upgrade(operations)`. Alembic's `env.py` and its `op` and
`context` are not used: they are global to the process, and two stores that are opened at the same
time would meet in them. Nothing here touches the configuration of logging.

To change the schema: change `schema.py`, add a module to `versions/` that does the same to a
database, raise `HEAD`. The tests compare what the revisions make with `schema.py`.
"""

from pathlib import Path

from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, String, Table, func, inspect, select

from ...errors import StoreTooNew, StoreUnavailable
from ..schema import metadata

HEAD = "0003"
"""The newest revision. It saves an up-to-date store from loading the scripts."""

VERSION_TABLE = "subagents_version"
"""Not Alembic's usual name: on a server other programs may keep theirs in the same schema."""

_version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32)))

_POSTGRES_LOCK = 0x5B_A6_E4_75
"""Any constant: who migrates a database at the same time takes the same lock."""


def is_newest(connection: Connection) -> bool:
    """Whether the schema is up to date; reads only.

    Raises:
        StoreTooNew: A later version wrote it.
        StoreUnavailable: It holds tables of something else.
    """
    found = _stored_revision(connection)
    if found == HEAD:
        return True
    if found is None:
        _refuse_foreign_tables(connection)
    elif found not in {script.revision for script in _scripts().walk_revisions()}:
        raise StoreTooNew(found)
    return False


def upgrade(connection: Connection) -> None:
    """Make the schema the newest one, from any older one or from nothing.

    Call it in a transaction; on PostgreSQL it waits there for others that do the same.

    Raises:
        StoreTooNew: A later version wrote it.
        StoreUnavailable: It holds tables of something else.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_POSTGRES_LOCK)))
    if is_newest(connection):
        return
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    scripts = _scripts()
    missing = list(scripts.iterate_revisions(HEAD, _stored_revision(connection) or "base"))
    for script in reversed(missing):
        script.module.upgrade(Operations(context))
    context.stamp(scripts, HEAD)


def _stored_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(_version.c.version_num))


def _refuse_foreign_tables(connection: Connection) -> None:
    present = set(inspect(connection).get_table_names())
    if connection.dialect.name == "sqlite":
        foreign = present - {VERSION_TABLE}
    else:
        foreign = present & set(metadata.tables)
    if foreign:
        raise StoreUnavailable(
            "it holds tables that this plugin did not make: "
            f"{', '.join(sorted(foreign)[:5])}; use a file, database or schema of its own"
        )


def _scripts() -> ScriptDirectory:
    config = Config()
    # The folder's name goes through a ConfigParser, to which % is special.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return ScriptDirectory.from_config(config)
