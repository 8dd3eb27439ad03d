"""Conversations, as functions over a connection. `SqlStore` calls them."""

from collections.abc import Collection
from itertools import batched

from sqlalchemy import BindParameter, Connection, bindparam, func, select

from ..models import ConversationId, SessionId, StoredMessage
from .codec import message_values, read_message
from .schema import message
from .statements import upsert

_AT_ONCE = 500
"""Values of one IN list; databases bound the parameters of a statement."""

_OF_CONVERSATION: BindParameter[str] = bindparam("of_conversation")
_NEWEST = (
    select(message)
    .where(message.c.conversation == _OF_CONVERSATION)
    .order_by(message.c.seq.desc())
    .limit(bindparam("most"))
)
_LAST_SEQ = select(func.max(message.c.seq)).where(message.c.conversation == _OF_CONVERSATION)
_COUNT = (
    select(message.c.conversation, func.count())
    .where(message.c.conversation.in_(bindparam("of_conversations", expanding=True)))
    .group_by(message.c.conversation)
)
# A write whose commit was not confirmed is sent again: to its own run it changes nothing.
_SAVE = upsert(message, "conversation", "seq", owned_by="run_id")


def newest(connection: Connection, conversation: ConversationId, most: int) -> list[StoredMessage]:
    """The newest messages, in their order."""
    rows = connection.execute(_NEWEST, {"of_conversation": conversation, "most": most})
    return [read_message(row) for row in reversed(rows.all())]


def last_seq(connection: Connection, conversation: ConversationId) -> int:
    """The highest number in use, or 0."""
    return connection.scalar(_LAST_SEQ, {"of_conversation": conversation}) or 0


def count(
    connection: Connection, conversations: Collection[ConversationId]
) -> dict[ConversationId, int]:
    """How many messages each conversation holds, empty ones left out."""
    found: dict[ConversationId, int] = {}
    for some in batched(conversations, _AT_ONCE):
        rows = connection.execute(_COUNT, {"of_conversations": some})
        found.update({ConversationId(conversation): number for conversation, number in rows})
    return found


def add(connection: Connection, session: SessionId, messages: Collection[StoredMessage]) -> None:
    """Insert messages; their numbers must be new, or have been used by the same run."""
    if messages:
        save = _SAVE[connection.dialect.name]
        connection.execute(save, [message_values(session, item) for item in messages])
