"""What can be wrong between the rows of a store, as functions over a connection. They only read.

A row by itself is looked at by `damaged_rows`; all others look at what belongs together.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, Connection, Table, exists, func, select, union_all

from . import schema
from .doctor_report import Finding, FindingKind, TableSize
from .doctor_rows import (
    Lying,
    StoredTable,
    content_bytes,
    key_text,
    lying_rows,
    record_of,
    shown,
)
from .rows import DamagedRow
from .sql_runs import is_unfinished

_run, _message = schema.run, schema.message

_STATIC = "static-"
"""So begin conversations of static agents, of which the store need not hold a row."""

KEEP_FIRST = "the row is written to the file of removed rows, then deleted"
_KEEP_ALL_FIRST = "the rows are written to the file of removed rows, then deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """Rows that belong to something that is not there."""

    table: Table
    owner: Column[str]
    """Names what they belong to."""
    where: ColumnElement[bool]
    problem: str


def _has_no(table: Table, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return ~exists().select_from(table).where(condition)


ORPHANS = (
    Orphans(
        table=schema.run_step,
        owner=schema.run_step.c.run_id,
        where=_has_no(_run, _run.c.run_id == schema.run_step.c.run_id),
        problem="steps of a run that does not exist",
    ),
    Orphans(
        table=_message,
        owner=_message.c.conversation,
        where=_has_no(_run, _run.c.run_id == _message.c.run_id)
        & _message.c.conversation.not_in(select(schema.subagent.c.conversation))
        & ~_message.c.conversation.startswith(_STATIC),
        problem="messages that no agent remembers, of a run that does not exist",
    ),
    Orphans(
        table=schema.fork_context,
        owner=schema.fork_context.c.group_id,
        where=_has_no(_run, _run.c.group_id == schema.fork_context.c.group_id),
        problem="what the forks of a group began with, without any run of the group",
    ),
    Orphans(
        table=schema.delivery,
        owner=schema.delivery.c.delivery_id,
        where=_has_no(_run, _run.c.run_id == schema.delivery.c.delivery_id),
        problem="the delivery of a run that does not exist",
    ),
    Orphans(
        table=schema.delivery,
        owner=schema.delivery.c.delivery_id,
        where=exists()
        .select_from(_run)
        .where(_run.c.run_id == schema.delivery.c.delivery_id, is_unfinished),
        problem="the delivery of a run that is not over; its end would not be delivered",
    ),
    Orphans(
        table=schema.turn_call,
        owner=schema.turn_call.c.turn_id,
        where=_has_no(schema.turn, schema.turn.c.turn_id == schema.turn_call.c.turn_id),
        problem="calls of a turn that does not exist",
    ),
    Orphans(
        table=schema.run_order,
        owner=schema.run_order.c.run_id,
        where=~exists()
        .select_from(_run)
        .where(_run.c.run_id == schema.run_order.c.run_id, is_unfinished),
        problem="orders of a run that is over or does not exist",
    ),
)

_KEPT = union_all(
    *(select(table.c.session) for table in (schema.subagent, _run, _message, schema.shared_entry))
).subquery()
_UNRECORDED = (
    select(_KEPT.c.session, func.count())
    .where(_has_no(schema.session, schema.session.c.session == _KEPT.c.session))
    .group_by(_KEPT.c.session)
    .order_by(_KEPT.c.session)
)
_GAPS = (
    select(_message.c.conversation, func.count(), func.max(_message.c.seq))
    .group_by(_message.c.conversation)
    .having(
        (func.count() != func.max(_message.c.seq)) | (func.min(_message.c.seq) != 1),
    )
    .order_by(_message.c.conversation)
)
_UNFINISHED = (
    select(_run.c.run_id, _run.c.state, _run.c.executor).where(is_unfinished).order_by(_run.c.id)
)


def damaged_rows(
    connection: Connection, stored: StoredTable
) -> Iterator[tuple[Lying, Finding | None]]:
    """All rows of a table, each with what is wrong with it."""
    for lying in lying_rows(connection, stored.table):
        try:
            record_of(stored, lying.raw)
        except DamagedRow as error:
            yield lying, _damaged(stored, lying, error)
        else:
            yield lying, None


def table_of(connection: Connection, stored: StoredTable) -> tuple[TableSize, list[Finding]]:
    """The size of a table, and its damaged rows."""
    rows = size = 0
    findings: list[Finding] = []
    for lying, finding in damaged_rows(connection, stored):
        rows += 1
        size += content_bytes(lying.raw)
        if finding is not None:
            findings.append(finding)
    return TableSize(table=stored.name, rows=rows, content_bytes=size), findings


def orphans(connection: Connection, kind: Orphans) -> list[Finding]:
    """The rows of one kind without an owner, one finding for each that is missing."""
    statement = (
        select(kind.owner, func.count()).where(kind.where).group_by(kind.owner).order_by(kind.owner)
    )
    return [
        Finding(
            kind=FindingKind.ORPHAN,
            table=kind.table.name,
            key=f"{kind.owner.name}={shown(owner)}",
            problem=f"{kind.problem} (rows: {count})",
            remedy=_KEEP_ALL_FIRST,
            mendable=True,
        )
        for owner, count in connection.execute(statement)
    ]


def unrecorded_sessions(connection: Connection) -> list[tuple[str, Finding]]:
    """The sessions of which something is kept but no record, which would never expire."""
    return [
        (
            session,
            Finding(
                kind=FindingKind.ORPHAN,
                table="session",
                key=f"session={shown(session)}",
                problem=f"rows of a session that has no record (rows: {count})",
                remedy="a record is added, so that the session expires like any other",
                mendable=True,
            ),
        )
        for session, count in connection.execute(_UNRECORDED)
    ]


def gaps(connection: Connection) -> list[Finding]:
    """The conversations whose numbers are not 1, 2, 3 and so on."""
    return [
        Finding(
            kind=FindingKind.GAP,
            table="message",
            key=f"conversation={shown(conversation)}",
            problem=f"{count} messages with numbers up to {last}: some are missing",
            remedy="nothing to do: what is there is used in its order",
        )
        for conversation, count, last in connection.execute(_GAPS)
    ]


def unfinished_runs(connection: Connection, *, held: bool | None) -> list[Finding]:
    """The runs that nobody may be working on.

    Args:
        connection: Where they are.
        held: Whether a bot has the store open, None: nobody can tell.
    """
    if held:
        return []
    whose = "may be gone" if held is None else "is gone: no bot has the store open"
    return [
        Finding(
            kind=FindingKind.UNFINISHED,
            table="run",
            key=f"run_id={shown(run_id)}",
            problem=f"it is {shown(state)}; its executor {shown(executor) or '(none)'} {whose}",
            remedy="nothing to do: the next start of the bot takes it up, or ends and delivers it",
        )
        for run_id, state, executor in connection.execute(_UNFINISHED)
    ]


def _damaged(stored: StoredTable, lying: Lying, error: DamagedRow) -> Finding:
    return Finding(
        kind=FindingKind.DAMAGED,
        table=stored.name,
        key=key_text(stored, lying.raw),
        problem=error.problem,
        remedy=f"{KEEP_FIRST}, and so is what belonged to it alone",
        mendable=True,
    )
