"""Turns under way, as functions over a connection. `SqlStore` calls them."""

from collections import defaultdict
from dataclasses import replace

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, select

from ..turn_record import TurnCall, TurnRecord
from .codec_log import call_values, read_call, read_turn, turn_values
from .rows import read_sound
from .schema import turn, turn_call
from .session_row import is_of_home
from .statements import insert_if_new

_OF_TURN: BindParameter[str] = bindparam("of_turn")

_CALL = ("tool", "arguments", "reply", "at")

_INSERT = insert_if_new(turn, "turn_id")
_INSERT_CALL = insert(turn_call).from_select(
    ["turn_id", "session", *_CALL],
    # Where there are many writers, a turn that is being ended waits for the call and takes it too.
    select(
        turn.c.turn_id,
        turn.c.session,
        *(bindparam(name, type_=turn_call.c[name].type) for name in _CALL),
    )
    .where(turn.c.turn_id == _OF_TURN)
    .with_for_update(read=True, key_share=True),
)
_END = (
    delete(turn).where(turn.c.turn_id == _OF_TURN),
    delete(turn_call).where(turn_call.c.turn_id == _OF_TURN),
)
_OPEN = select(turn).order_by(turn.c.began_at, turn.c.id)
_CALLS = select(turn_call).order_by(turn_call.c.id)


def begin(connection: Connection, record: TurnRecord) -> None:
    """Keep a turn with the calls it has; one that is there stays as it is."""
    added = connection.execute(_INSERT[connection.dialect.name], turn_values(record)).rowcount
    for call in record.calls if added else ():
        add_call(connection, record.turn_id, call)


def add_call(connection: Connection, turn_id: str, call: TurnCall) -> None:
    """Keep a call of a turn; nothing happens where there is no such turn."""
    connection.execute(_INSERT_CALL, {"of_turn": turn_id, **call_values(call)})


def end(connection: Connection, turn_id: str) -> None:
    """Delete a turn with its calls."""
    for statement in _END:
        connection.execute(statement, {"of_turn": turn_id})


def open_turns(connection: Connection, home: str | None) -> list[TurnRecord]:
    """All turns that have not ended, or those of a home, oldest first."""
    # The calls first: a turn that ends meanwhile is then left out, not shown without its calls.
    calls: defaultdict[str, list[TurnCall]] = defaultdict(list)
    for turn_id, call in read_sound(connection, _CALLS, {}, read=read_call, number=turn_call.c.id):
        calls[turn_id].append(call)
    wanted = _OPEN if home is None else _OPEN.where(is_of_home(turn.c.session, home))
    turns = read_sound(connection, wanted, {}, read=read_turn, number=turn.c.id)
    return [replace(record, calls=tuple(calls[record.turn_id])) for record in turns]
