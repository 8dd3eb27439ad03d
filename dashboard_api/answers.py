"""What the API says to one request, before any web server is involved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One reply, or one refusal."""

    status: int
    """Of HTTP."""
    body: Mapping[str, Any]
    """A JSON object."""
