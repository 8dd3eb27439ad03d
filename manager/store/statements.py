"""Statements that the two dialects write differently, made once for each.

The other statements stand beside the functions that run them.
"""

from collections.abc import Collection, Mapping

from sqlalchemy import Insert, Table, case, null
from sqlalchemy.dialects import postgresql, sqlite

type ByDialect = Mapping[str, Insert]
"""One statement per dialect name."""


def upsert(table: Table, *key: str, owned_by: str = "", left: Collection[str] = ()) -> ByDialect:
    """Insert a whole row, or replace all of it but its serial number where the key exists.

    Args:
        table: The table.
        *key: The columns of its key.
        owned_by: A column that says whose the row is, never null; replacing a row of somebody
            else violates that, so that the statement fails.
        left: Columns that are not written.
    """
    replaced = [column.name for column in table.c if column.name not in (*key, *left, "id")]
    statements: dict[str, Insert] = {}
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql)):
        statement = dialect.insert(table)
        changes = {column: statement.excluded[column] for column in replaced}
        if owned_by:
            owner = statement.excluded[owned_by]
            changes[owned_by] = case((table.c[owned_by] == owner, owner), else_=null())
        statements[name] = statement.on_conflict_do_update(index_elements=key, set_=changes)
    return statements


def insert_if_new(table: Table, *key: str) -> ByDialect:
    """Insert a whole row, or leave the one that is there."""
    return {
        "sqlite": sqlite.insert(table).on_conflict_do_nothing(index_elements=key),
        "postgresql": postgresql.insert(table).on_conflict_do_nothing(index_elements=key),
    }
