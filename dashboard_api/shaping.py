"""From the core's records to what the API replies: sessions, notes, events, amounts."""

import re

from ..manager.models import SessionId, SharedEntry, Usage
from ..manager.store.protocol_pages import SessionSummary
from ..manager.stored_event import StoredEvent
from .replies import BoardNote, EventRow, SessionRow, UsageReply

_LONGEST_PART = 24
_SHOWN_OF_LONGER = 13


def adapter_of(session: SessionId) -> str:
    """The platform that a session's chat is on, as the bot's owner named it."""
    return session.partition(":")[0]


def title_of(session: SessionId) -> str:
    """A short form of a session's id: adapter, kind of chat, and the last part."""
    adapter, _, rest = session.partition(":")
    kind, _, chat = rest.partition(":")
    last = re.split("[!:]", chat)[-1] or chat
    if len(last) > _LONGEST_PART:
        last = f"{last[:_SHOWN_OF_LONGER]}…"
    return " · ".join(filter(None, (adapter, kind.removesuffix("Message"), last)))


def session_row(summary: SessionSummary) -> SessionRow:
    """A session with its counts."""
    return SessionRow(
        session=summary.session,
        title=title_of(summary.session),
        adapter=adapter_of(summary.session),
        last_active_at=summary.last_active_at,
        created_at=summary.created_at,
        agents=summary.agents,
        running=summary.running,
        queued=summary.queued,
        waiting=summary.waiting,
        runs_total=summary.runs,
        failed_today=summary.failed,
        tokens_today=summary.tokens,
    )


def usage_reply(usage: Usage) -> UsageReply:
    """Tokens, with their sum."""
    return UsageReply(
        input=usage.input, cached=usage.cached, output=usage.output, total=usage.total
    )


def board_note(entry: SharedEntry) -> BoardNote:
    """A note."""
    return BoardNote(
        seq=entry.seq,
        kind=entry.kind,
        sender=entry.sender,
        owner=entry.owner,
        target=entry.target,
        content=entry.content,
        at=entry.at,
    )


def event_row(event: StoredEvent) -> EventRow:
    """An event."""
    return EventRow(
        id=event.event_id,
        session=event.session,
        run_id=event.run_id,
        kind=event.kind,
        at=event.at,
        payload=dict(event.payload),
    )
