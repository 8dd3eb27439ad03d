"""Reading rows strictly: what the codecs share; it knows no table."""

import logging
import sqlite3
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from sqlalchemy import Column, Connection, Row, Select
from sqlalchemy.exc import DBAPIError

from ..errors import StoreUnavailable
from ..models import AgentKind, SubAgentConfig
from ..names import name_key
from .texts import load_json

logger = logging.getLogger(__name__)

type Values = dict[str, Any]
"""Column values by column name."""

type Reader[T] = Callable[[Row[Any]], T]


class DamagedRow(StoreUnavailable):
    """One row cannot be read; the rest of the store is as good as ever."""


def strict[T](what: str) -> Callable[[Reader[T]], Reader[T]]:
    """Make a reader raise `DamagedRow` for a row that no record can be made of."""

    def decorate(read: Reader[T]) -> Reader[T]:
        @wraps(read)
        def read_strictly(row: Row[Any]) -> T:
            try:
                return read(row)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise DamagedRow(f"a stored {what} is damaged ({error})") from error

        return read_strictly

    return decorate


def read_sound[T](
    connection: Connection,
    statement: Select[Any],
    values: Mapping[str, Any],
    *,
    read: Reader[T],
    number: Column[int],
) -> list[T]:
    """Read rows; damaged ones are logged, left out and left as they are.

    Args:
        connection: Where they are.
        statement: Selects them.
        values: What stands for the parameters of the statement.
        read: Makes a record of a row.
        number: A number that tells these rows apart.
    """
    try:
        return _read_all(connection, statement, values, read)
    except DamagedRow:
        # a row that cannot be read ends the reading of all, so each is read by itself
        numbers = connection.scalars(statement.with_only_columns(number), values).all()
    sound: list[T] = []
    for each in numbers:
        try:
            sound += _read_all(connection, statement.where(number == each), values, read)
        except DamagedRow as error:
            logger.error(  # noqa: TRY400 - the row is what is wrong, not the code
                "Row %s of the table `%s` is set aside, untouched: %s", each, number.table, error
            )
    return sound


def _read_all[T](
    connection: Connection, statement: Select[Any], values: Mapping[str, Any], read: Reader[T]
) -> list[T]:
    try:
        return [read(row) for row in connection.execute(statement, values)]
    except DBAPIError as error:
        # the driver's own complaint about a text that is not UTF-8: it has no code of SQLite's
        if isinstance(error.orig, sqlite3.OperationalError) and not hasattr(
            error.orig, "sqlite_errorcode"
        ):
            raise DamagedRow("a stored text is damaged") from error
        raise


def key_of(name: str) -> str:
    """A name as it is compared: without regard to case, as the core does."""
    return name_key(name)


def agent_key(config: SubAgentConfig) -> str:
    """What tells an agent from the others of its session.

    What is kept of a static agent, its memory's name and rights mark, must outlive a dynamic
    namesake that comes and goes while the static one is switched off.
    """
    key = key_of(config.name)
    return f"*{key}" if config.kind is AgentKind.STATIC else key


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in a column."""
    value = load_json(text)
    if not isinstance(value, dict):
        raise TypeError("an object was expected")
    return value


def read_list(text: str) -> list[Any]:
    """The JSON list in a column."""
    value = load_json(text)
    if not isinstance(value, list):
        raise TypeError("a list was expected")
    return value


def read_names(text: str) -> tuple[str, ...]:
    """The JSON list of texts in a column."""
    names = read_list(text)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("a list of texts was expected")
    return tuple(names)
