"""An event as it is kept for those who come later: the page's timeline and its live stream."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .models import RunId, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """Something that happened in a session, made flat."""

    event_id: int = 0
    """Given by the store: greater than that of any earlier event, never given twice; 0 before."""
    session: SessionId
    run_id: RunId | None = None
    kind: str
    payload: Mapping[str, Any]
    """JSON values by name."""
    at: datetime
