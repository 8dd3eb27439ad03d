"""procrastinate's tables, in a schema of their own beside the store's tables.

The store's own migrations know nothing of them, and nothing in them is worth keeping: what a run
has done is in the store. The schema's comment says at which of procrastinate's migrations it is.
"""

from pathlib import Path

from procrastinate.schema import SchemaManager
from psycopg import AsyncConnection
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier, Literal

from ..errors import StoreUnavailable

CONNECT_SECONDS = 10
_NAME = "subagents_jobs"
_LONGEST = 63
"""Bytes of a name in PostgreSQL."""
_LOCK = 0x5B_A6_E7_5C
"""Any number that nothing else locks: processes that start at once take turns."""
_MARK = "procrastinate "


async def prepare(address: str) -> str:
    """Make the schema, or bring it up to date.

    Args:
        address: As libpq reads it.

    Returns:
        The schema's name: a store in another schema of the same database has jobs of its own.

    Raises:
        StoreUnavailable: The database does not let it, or another version has made the schema.
        psycopg.Error: It could not be reached, or did not do as told.
    """
    connection = await AsyncConnection.connect(address, connect_timeout=CONNECT_SECONDS)
    async with connection:
        await connection.execute("SET LOCAL lock_timeout = '30s'")
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        schema = await _name(connection)
        try:
            await _bring_up_to_date(connection, schema)
        except InsufficientPrivilege:
            raise StoreUnavailable(
                f"its user may not make the schema {schema}, which holds what waits for a process; "
                f"an administrator does it with CREATE SCHEMA {schema} AUTHORIZATION <user>"
            ) from None
        return schema


async def _name(connection: AsyncConnection) -> str:
    found = await connection.execute("SELECT current_schema()")
    row = await found.fetchone()
    own = row[0] if row is not None else None
    if own in (None, "public"):
        return _NAME
    # Cut from the left: what tells schemas apart stands at the end more often.
    tail = f"{own}_{_NAME}".encode()[-_LONGEST:]
    return tail.decode("utf-8", "ignore")


async def _bring_up_to_date(connection: AsyncConnection, schema: str) -> None:
    scripts = _migrations()
    newest = scripts[-1].stem
    found = await connection.execute(
        "SELECT obj_description(oid, 'pg_namespace'), "
        "EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid) "
        "FROM pg_namespace AS n WHERE nspname = %s",
        (schema,),
    )
    row = await found.fetchone()
    comment, has_tables = row if row is not None else (None, False)
    if comment == _MARK + newest:
        return
    if not has_tables:
        wanted = [SchemaManager.get_schema()]
    else:
        at = _standing_at(comment, newest, schema)
        wanted = [each.read_text("utf-8") for each in scripts if each.stem > at]
    if row is None:
        await connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
    await connection.execute(SQL("SET LOCAL search_path TO {}").format(Identifier(schema)))
    for script in wanted:
        await connection.execute(script.encode())
    await connection.execute(
        SQL("COMMENT ON SCHEMA {} IS {}").format(Identifier(schema), Literal(_MARK + newest))
    )


def _migrations() -> list[Path]:
    return sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))


def _standing_at(comment: str | None, newest: str, schema: str) -> str:
    if comment is None or not comment.startswith(_MARK):
        raise StoreUnavailable(
            f"its schema {schema} holds tables that are not the plugin's; rename that schema"
        )
    at = comment.removeprefix(_MARK)
    if at > newest:
        raise StoreUnavailable(
            "another process shares its work with a later version of procrastinate; "
            "have the same one here: pip install --upgrade 'procrastinate>=3.10,<4'"
        )
    return at
