"""Every table with its codec, and its rows as they lie in a database.

The store reads records. Who looks after it needs the row itself, a damaged one too: to say what is
wrong with it, to keep it before it goes, or to carry it to another database. `doctor.py` and
`transfer.py` use it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Table,
    literal_column,
    select,
    type_coerce,
)
from sqlalchemy.types import NullType

from ..models import SessionId
from . import codec, codec_forks, codec_log, codec_orders, codec_runs, schema
from .columns import UtcDateTime
from .rows import DamagedRow, Values

type Raw = dict[str, Any]
"""A row as the driver gives it, by column name."""

_AT_ONCE = 500
_PLACE = "_place"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A table with what its rows mean."""

    table: Table
    key: tuple[str, ...]
    """The columns by which people know a row."""
    read: Callable[[Row[Any]], Any]
    """Makes the record; raises `DamagedRow`."""
    values: Callable[[SessionId, Any], Values]
    """The row of a record, but for its serial number."""

    @property
    def name(self) -> str:
        """Its name in the database."""
        return self.table.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Lying:
    """A row with where it lies."""

    place: Any
    """Finds it again within the same transaction, whatever is wrong with its key."""
    raw: Raw


def _call_values(session: SessionId, record: Any) -> Values:
    turn_id, call = record
    return {"turn_id": turn_id, "session": session, **codec_log.call_values(call)}


TABLES = (
    StoredTable(
        table=schema.session,
        key=("session",),
        read=codec.read_session,
        values=lambda _, record: codec.session_values(record),
    ),
    StoredTable(
        table=schema.subagent,
        key=("session", "name_key"),
        read=codec.read_agent,
        values=codec.agent_values,
    ),
    StoredTable(
        table=schema.run,
        key=("run_id",),
        read=codec_runs.read_run,
        values=lambda _, record: codec_runs.run_values(record),
    ),
    StoredTable(
        table=schema.run_step,
        key=("run_id", "key"),
        read=codec_runs.read_step,
        values=lambda _, record: codec_runs.step_values(record),
    ),
    StoredTable(
        table=schema.message,
        key=("conversation", "seq"),
        read=codec.read_message,
        values=codec.message_values,
    ),
    StoredTable(
        table=schema.fork_context,
        key=("group_id",),
        read=codec_forks.read_fork,
        values=lambda _, record: codec_forks.fork_values(record),
    ),
    StoredTable(
        table=schema.delivery,
        key=("delivery_id",),
        read=codec_runs.read_delivery,
        values=lambda _, record: codec_runs.delivery_values(record),
    ),
    StoredTable(
        table=schema.shared_entry,
        key=("session", "seq"),
        read=codec.read_entry,
        values=codec.entry_values,
    ),
    StoredTable(
        table=schema.turn,
        key=("turn_id",),
        read=codec_log.read_turn,
        values=lambda _, record: codec_log.turn_values(record),
    ),
    StoredTable(
        table=schema.turn_call,
        key=("turn_id", "id"),
        read=codec_log.read_call,
        values=_call_values,
    ),
    StoredTable(
        table=schema.run_order,
        key=("run_id", "id"),
        read=codec_orders.read_order,
        values=lambda _, record: codec_orders.order_values(record),
    ),
    StoredTable(
        table=schema.run_event,
        key=("id",),
        read=codec_log.read_event,
        values=lambda _, record: codec_log.event_values(record),
    ),
)
"""All tables; what owns rows of others stands before them."""


def take_any_text(connection: Connection) -> None:
    """Have SQLite hand over texts that are not UTF-8 too, each wrong byte as a lone surrogate."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")


def lying_rows(
    connection: Connection, table: Table, *where: ColumnElement[bool]
) -> Iterator[Lying]:
    """Rows in the order of their primary key, a few at a time in memory."""
    columns = (type_coerce(column, NullType()).label(column.name) for column in table.c)
    statement = (
        select(_place(connection, table).label(_PLACE), *columns)
        .where(*where)
        .order_by(*table.primary_key.columns)
    )
    for row in connection.execute(statement, execution_options={"yield_per": _AT_ONCE}):
        raw = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
        yield Lying(place=raw.pop(_PLACE), raw=raw)


def is_at(connection: Connection, table: Table, place: Any) -> ColumnElement[bool]:
    """The condition that a row lies there."""
    return cast("ColumnElement[bool]", _place(connection, table) == place)


def record_of(stored: StoredTable, raw: Mapping[str, Any]) -> Any:
    """The record of a row, read more strictly than the store does: types are looked at too.

    Raises:
        DamagedRow: There is none.
    """
    values = {column.name: _typed(column, raw.get(column.name)) for column in stored.table.c}
    return stored.read(cast("Row[Any]", SimpleNamespace(**values)))


def portable(value: Any) -> Any:
    """A value as JSON has it, the same from every database."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    return value.hex() if isinstance(value, bytes) else value


def portable_row(stored: StoredTable, raw: Mapping[str, Any]) -> Raw:
    """A sound row as JSON has it, without its serial number, which is another in each database."""
    return {
        column.name: portable(
            bool(raw[column.name])
            if isinstance(column.type, Boolean) and raw[column.name] is not None
            else raw[column.name]
        )
        for column in stored.table.c
        if column.name != "id" and schema.STAYS not in column.info
    }


def key_text(stored: StoredTable, raw: Mapping[str, Any]) -> str:
    """How people know a row."""
    return ", ".join(f"{name}={shown(raw.get(name))}" for name in stored.key)


def shown(value: Any) -> str:
    """A value as text that can be printed."""
    text = str(portable(value))
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def content_bytes(raw: Mapping[str, Any]) -> int:
    """How long the values of a row are; numbers and times count as eight."""
    return sum(
        len(value.encode("utf-8", "surrogateescape")) if isinstance(value, str) else 8
        for value in raw.values()
        if value is not None
    )


def _place(connection: Connection, table: Table) -> ColumnElement[Any]:
    if connection.dialect.name == "sqlite":
        return literal_column(f"{table.name}.rowid")
    return literal_column(f"CAST({table.name}.ctid AS text)")


def _typed(column: Column[Any], value: Any) -> Any:
    """The value as its column means it."""
    kind = column.type
    if value is None and column.nullable:
        return None
    typed: datetime | bool | int | str | None
    if isinstance(kind, UtcDateTime):
        typed = _time(value)
    elif isinstance(kind, Boolean):
        typed = bool(value) if value in (0, 1) else None
    elif isinstance(kind, Integer):
        typed = _number(value, bits=63 if isinstance(kind, BigInteger) else 31)
    else:
        typed = value if isinstance(value, str) and _is_sound(value) else None
    if typed is None:
        raise DamagedRow(f"`{column.name}` cannot be {_cut(value)}")
    return typed


def _time(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        found = datetime.fromisoformat(value)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (OverflowError, TypeError, ValueError):
        return None


def _number(value: Any, *, bits: int) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -(1 << bits) <= value < 1 << bits else None


def _is_sound(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _cut(value: Any) -> str:
    text = json.dumps(portable(value))
    return text if len(text) <= 60 else f"{text[:60]}..."
