"""What a child remembers: its conversation as it is loaded into the next run.

Rows are stored whole; here they are trimmed at the ends of runs, long tool results are cut, and
system messages are left out: a run has a system prompt of its own. Nothing is ever written back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .models import MessageBody, Run, StoredMessage
from .settings import Settings
from .store.protocol import Store

_LEFT_OUT = "[earlier messages of this conversation are left out]"
_SYSTEM_ROLES = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A conversation split for one run."""

    history: tuple[MessageBody, ...] = ()
    """What earlier runs left."""
    resume: tuple[MessageBody, ...] = ()
    """What this run had recorded before it was taken up again, whole."""


async def load_memory(store: Store, run: Run, settings: Settings, *, enabled: bool) -> Memory:
    """Load the conversation of a run.

    Args:
        store: Where the rows are.
        run: The run that is about to start.
        settings: How much is loaded.
        enabled: Whether earlier runs are remembered at all.
    """
    limit = settings.subagent_history_maxlen if enabled else 0
    own, earlier = await _rows(store, run, limit)
    return Memory(
        history=tuple(
            _shortened(row.body, settings.tool_result_maxlen) for row in trimmed(earlier, limit)
        )
        if limit
        else (),
        resume=tuple(row.body for row in own),
    )


async def _rows(
    store: Store, run: Run, limit: int
) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """The run's own rows, all of them, and the newest of the earlier ones.

    One earlier row more than the limit shows whether the oldest one that counts begins its run.
    """
    newest = limit + 1
    while True:
        loaded = await store.load_messages(run.conversation, newest=newest)
        rows = [row for row in loaded if row.body.get("role") not in _SYSTEM_ROLES]
        own = [row for row in rows if row.run_id == run.run_id]
        earlier = [row for row in rows if row.run_id != run.run_id]
        if len(loaded) < newest or len(earlier) > limit:
            return own, earlier
        newest *= 2


def trimmed(rows: Sequence[StoredMessage], limit: int) -> list[StoredMessage]:
    """The newest rows, at most `limit`, beginning where a run begins.

    When a single run is longer than that, its end is kept, from an assistant message on, behind
    a user message that says so: a call is never parted from its result.
    """
    if len(rows) <= limit:
        return list(rows)
    kept, before = list(rows[-limit:]), rows[-limit - 1]
    start = 0
    if before.run_id == kept[0].run_id:
        start = next((i for i, row in enumerate(kept) if row.run_id != before.run_id), len(kept))
    if start < len(kept):
        return kept[start:]
    # the note takes the place of at least one row
    answers = (i for i, row in enumerate(kept) if i and row.body.get("role") == "assistant")
    if (tail := next(answers, None)) is None:
        return []
    note = StoredMessage(
        conversation=kept[0].conversation,
        seq=kept[0].seq,
        run_id=kept[0].run_id,
        body={"role": "user", "content": _LEFT_OUT},
        at=kept[0].at,
    )
    return [note, *kept[tail:]]


def _shortened(body: MessageBody, limit: int) -> MessageBody:
    """A tool result cut to `limit` characters, with a mark; anything else as it is."""
    content = body.get("content")
    if body.get("role") != "tool":
        return body
    if isinstance(content, str):
        return {**body, "content": _cut(content, limit)}
    if not isinstance(content, list):
        return body
    parts: list[object] = []
    for part in content:
        cut, used = _cut_part(part, limit)
        parts.append(cut)
        limit = max(0, limit - used)
    return {**body, "content": parts}


def _cut_part(part: object, limit: int) -> tuple[object, int]:
    """A part of a tool result, cut, and how many characters it had; pictures are left alone."""
    if isinstance(part, str):
        return _cut(part, limit), len(part)
    text = part.get("text") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(text, str):
        return part, 0
    return {**part, "text": _cut(text, limit)}, len(text)


def _cut(text: str, limit: int) -> str:
    left_out = len(text) - limit
    return f"{text[:limit]}\n[{left_out} characters left out]" if left_out > 0 else text
