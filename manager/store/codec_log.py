"""Rows <-> turns under way with their calls, and events.

Writing gives a dictionary of column values. Reading is strict: a row that no record can be made
of raises `DamagedRow` and is never guessed at.
"""

from typing import Any

from sqlalchemy import Row

from ..stored_event import StoredEvent
from ..turn_record import TurnCall, TurnRecord
from .codec_origin import origin_text, read_origin
from .rows import Values, read_names, read_object, strict
from .texts import dump_json


def turn_values(turn: TurnRecord) -> Values:
    """The row of a turn; its calls have rows of their own."""
    return {
        "turn_id": turn.turn_id,
        "session": turn.session,
        "owner": turn.owner,
        "origin": origin_text(turn.origin),
        "message": turn.message,
        "image_urls": dump_json(turn.image_urls),
        "executor": turn.executor,
        "began_at": turn.began_at,
    }


@strict("turn")
def read_turn(row: Row[Any]) -> TurnRecord:
    """The turn of a row, without its calls."""
    return TurnRecord(
        turn_id=row.turn_id,
        session=row.session,
        owner=row.owner,
        origin=read_origin(row.origin),
        message=row.message,
        image_urls=read_names(row.image_urls),
        executor=row.executor,
        began_at=row.began_at,
    )


def call_values(call: TurnCall) -> Values:
    """What is kept of a call; whose it is stands with its turn."""
    return {"tool": call.tool, "arguments": call.arguments, "reply": call.reply, "at": call.at}


@strict("call of a turn")
def read_call(row: Row[Any]) -> tuple[str, TurnCall]:
    """The turn's id and the call of a row."""
    call = TurnCall(tool=row.tool, arguments=row.arguments, reply=row.reply, at=row.at)
    return row.turn_id, call


def event_values(event: StoredEvent) -> Values:
    """The row of a new event; the database gives its number."""
    return {
        "session": event.session,
        "run_id": event.run_id,
        "kind": event.kind,
        "payload": dump_json(event.payload),
        "at": event.at,
    }


@strict("event")
def read_event(row: Row[Any]) -> StoredEvent:
    """The event of a row."""
    return StoredEvent(
        event_id=row.id,
        session=row.session,
        run_id=row.run_id,
        kind=row.kind,
        payload=read_object(row.payload),
        at=row.at,
    )
