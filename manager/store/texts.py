"""Texts and JSON as the store keeps them: what no database takes is made harmless here.

Models and users send NUL characters and lone surrogates. PostgreSQL refuses both, SQLite and
every provider's HTTP client the second; one such character must not cost the rest of the text, so
each becomes U+FFFD. It knows no tables.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, cast

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def clean(text: str) -> str:
    """The text with U+FFFD for each character that a database refuses."""
    if "\x00" not in text and _is_encodable(text):
        return text
    return _UNFIT.sub(_REPLACEMENT, text)


def dump_json(value: object) -> str:
    """JSON text that every database takes: texts cleaned, NaN and infinities as null.

    Raises:
        TypeError: The value holds something that JSON does not know.
    """
    try:
        text = _dump(value)
    except ValueError:
        text = _dump(json.loads(json.dumps(value), parse_constant=lambda _: None))
    if r"\u0000" not in text and _is_encodable(text):
        return text
    return _dump(_clean_items(json.loads(text)))


def load_json(text: str) -> Any:
    """What `dump_json` was given, tuples as lists.

    Raises:
        ValueError: The text is no JSON.
    """
    return json.loads(text)


def cleaned[T](value: T) -> T:
    """A record as it comes back from a database: every text in it cleaned."""
    if isinstance(value, str):
        return value if isinstance(value, Enum) else cast("T", clean(value))
    if isinstance(value, tuple):
        return cast("T", tuple(cleaned(item) for item in value))
    if isinstance(value, Mapping):
        return cast("T", load_json(dump_json(value)))
    if is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: cleaned(getattr(value, field.name)) for field in fields(value)}
        return cast("T", replace(value, **changes))
    return value


def _clean_items(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_items(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean_items(item) for key, item in value.items()}
    return value


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
