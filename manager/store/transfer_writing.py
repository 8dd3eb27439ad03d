"""Writing an exported session into a store, as a function over a connection.

Nobody works any more on what was under way when the session was exported: its runs come in as
interrupted, and its deliveries wait again. `transfer.py` calls it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, insert

from ..models import Delivery, DeliveryState, Failure, Run, RunState, delivery_of
from . import schema, sql_events, sql_sessions
from .codec_runs import delivery_values, run_values
from .doctor_rows import TABLES
from .rows import Values
from .session_row import keep_session
from .transfer_lines import ExportedRow, ExportedSession

_CUT_OFF = Failure(
    code="interrupted", message="It was moved to another database while it was under way."
)
_ON_THE_WAY = frozenset({DeliveryState.CLAIMED, DeliveryState.HANDED})


def unfinished(session: ExportedSession) -> list[Run]:
    """The runs that were under way."""
    runs = (row.record for row in session.rows if row.stored.table is schema.run)
    return [run for run in runs if not run.is_over]


def write_session(
    connection: Connection, session: ExportedSession, *, now: datetime, replaces: bool
) -> None:
    """Write a session.

    Args:
        connection: In a transaction.
        session: The session as it was exported.
        now: When runs that were under way end.
        replaces: Whether all that is kept of it is deleted first.
    """
    if replaces:
        sql_sessions.delete_all(connection, session.session)
    for stored in TABLES:
        rows = [row for row in session.rows if row.stored is stored]
        if stored.table is schema.run_event:
            sql_events.add(connection, [row.record for row in rows])
            continue
        values = list(_settled(rows, now))
        if stored.table is schema.delivery:
            values += _deliveries(session, now)
        if values:
            connection.execute(insert(stored.table), values)
    if session.rows:
        keep_session(connection, session.session, now)


def _settled(rows: Iterable[ExportedRow], now: datetime) -> Iterator[Values]:
    for row in rows:
        match row.record:
            case Run(is_over=False) as run:
                yield run_values(_interrupted(run, now))
            case Delivery(state=state) as delivery if state in _ON_THE_WAY:
                yield delivery_values(
                    replace(delivery, state=DeliveryState.PENDING, taker="", lease_until=None)
                )
            case _:
                yield row.values


def _interrupted(run: Run, now: datetime) -> Run:
    # Not by the table in `runs/state.py`, which is for the run's own life: this is its copy.
    return replace(
        run,
        state=RunState.INTERRUPTED,
        background=True,
        finished_at=now,
        failure=_CUT_OFF,
        cut_short="",
    )


def _deliveries(session: ExportedSession, now: datetime) -> Iterator[Values]:
    """The ends of runs that were under way, of which their users are to hear."""
    known = {row.record.delivery_id for row in session.rows if row.stored.table is schema.delivery}
    for run in unfinished(session):
        if run.run_id not in known:
            yield delivery_values(delivery_of(run, now))
