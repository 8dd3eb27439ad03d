"""Column types that behave alike on SQLite and PostgreSQL.

They turn values at the border of the database and nothing else; which columns there are is in
`schema.py`.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from .rows import DamagedRow
from .texts import clean


class CleanText(TypeDecorator[str]):
    """Text of any length, without the characters that a database refuses."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Clean a text on its way in."""
        return None if value is None else clean(value)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time: `timestamptz` on PostgreSQL, sortable text in UTC on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """SQLite has no type for times."""
        impl: TypeEngine[Any] = Text() if dialect.name == "sqlite" else DateTime(timezone=True)
        return dialect.type_descriptor(impl)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Bring a time to UTC.

        Raises:
            ValueError: The time is naive, so nobody knows when it is.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time must be aware")
        value = value.astimezone(UTC)
        if dialect.name != "sqlite":
            return value
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Make a stored time aware.

        Raises:
            DamagedRow: What is stored is no time.
        """
        if value is None or isinstance(value, datetime):
            return value
        try:
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        except (TypeError, ValueError) as error:
            raise DamagedRow(f"a stored time is damaged: {value!r}") from error


# `json`, not `jsonb`: it keeps the text as it is written. `jsonb` sorts keys, which would change
# what a provider's prefix cache has seen.
JsonText = Text().with_variant(JSON(none_as_null=True), "postgresql")
"""JSON text; `texts.dump_json` and `load_json` are applied by the codec, not by the type."""

SerialNumber = BigInteger().with_variant(Integer(), "sqlite")
"""A number that the database counts up; SQLite does so for INTEGER only."""
