"""A turn as it is kept while it is under way, so that a restart loses neither words nor results.

The host saves a turn only at its end. What is kept here is what an answer after a crash needs: the
user's message and every call of our tools with its reply.
"""

from dataclasses import dataclass
from datetime import datetime

from .models import Origin, OwnerId, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCall:
    """One call of one of our tools by the main agent, and its reply."""

    tool: str
    arguments: str = ""
    """JSON text."""
    reply: str = ""
    at: datetime
    """When the reply was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """A turn that has not ended."""

    turn_id: str
    session: SessionId
    owner: OwnerId
    """The chat user whose message it is."""
    origin: Origin
    message: str = ""
    """The user's words."""
    image_urls: tuple[str, ...] = ()
    began_at: datetime
    executor: str = ""
    """Which process the turn is in."""
    calls: tuple[TurnCall, ...] = ()
    """In the order in which their replies were given."""
