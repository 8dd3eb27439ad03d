"""Reading rows strictly: what the codecs share; it knows no table."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from sqlalchemy import Row

from ..errors import StoreUnavailable
from .texts import load_json

type Values = dict[str, Any]
"""Column values by column name."""

type Reader[T] = Callable[[Row[Any]], T]


def strict[T](what: str) -> Callable[[Reader[T]], Reader[T]]:
    """Make a reader raise `StoreUnavailable` for a row that no record can be made of."""

    def decorate(read: Reader[T]) -> Reader[T]:
        @wraps(read)
        def read_strictly(row: Row[Any]) -> T:
            try:
                return read(row)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise StoreUnavailable(f"a stored {what} is damaged ({error})") from error

        return read_strictly

    return decorate


def key_of(name: str) -> str:
    """A name as it is compared: without regard to case."""
    return name.lower()


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
