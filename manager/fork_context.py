"""What the main agent's model was sent when it called `task`; each fork begins with it."""

from dataclasses import dataclass
from datetime import datetime

from .models import GroupId, MessageBody, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkContext:
    """All that forks of one call have in common. Stored once; it never becomes memory."""

    group_id: GroupId
    session: SessionId
    messages: tuple[MessageBody, ...]
    """From the system message to the newest tool result, temporary parts included."""
    tools: tuple[MessageBody, ...]
    """Name, description and parameters of each tool, in their order."""
    provider_id: str
    model: str = ""
    """The model that the chat's user picked; "" is the provider's own."""
    created_at: datetime
