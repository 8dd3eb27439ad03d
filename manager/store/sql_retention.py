"""Letting old rows go, as a function over a connection. `SqlStore` calls it.

A run goes last, after all that hangs on it: what a limit leaves behind is found by the next call.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Integer,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    or_,
    select,
    tuple_,
)

from ..models import ON_THE_WAY
from .schema import delivery, fork_context, message, run, run_event, run_order, run_step
from .sql_runs import is_unfinished

_is_open = or_(*(delivery.c.state == state.value for state in ON_THE_WAY))

_OLD_RUNS = (
    select(run.c.run_id)
    .where(
        run.c.finished_at < bindparam("runs_before"),
        ~is_unfinished,
        ~exists().where(delivery.c.delivery_id == run.c.run_id, _is_open),
    )
    .order_by(run.c.finished_at, run.c.id)
    .limit(bindparam("limit", type_=Integer))
    .correlate(None)
)
"""The runs that go next. They stay these while what hangs on them is deleted."""


def _some(table: Table, key: ColumnElement[Any], found: Select[Any]) -> Delete:
    """Delete the rows whose keys a statement finds, as far as the limit allows."""
    some = found.limit(bindparam("most", type_=Integer)).correlate(None)
    return delete(table).where(key.in_(some))


_OLD_EVENTS = _some(
    run_event,
    run_event.c.id,
    select(run_event.c.id)
    .where(run_event.c.at < bindparam("events_before"))
    .order_by(run_event.c.at),
)
_EVENTS_OF_RUNS = _some(
    run_event, run_event.c.id, select(run_event.c.id).where(run_event.c.run_id.in_(_OLD_RUNS))
)
_OLD_STEPS = _some(
    run_step,
    run_step.c.id,
    select(run_step.c.id)
    .join(run, run.c.run_id == run_step.c.run_id)
    .where(run.c.finished_at < bindparam("steps_before"), ~is_unfinished),
)
_STEPS_OF_RUNS = _some(
    run_step, run_step.c.id, select(run_step.c.id).where(run_step.c.run_id.in_(_OLD_RUNS))
)
# An agent's conversation is its memory, which outlives the runs that made it.
_OWN_MESSAGES = (
    (message.c.conversation == run.c.conversation)
    & (message.c.run_id == run.c.run_id)
    & run.c.agent.is_(None)
)
_MESSAGES_OF_RUNS = _some(
    message,
    tuple_(message.c.conversation, message.c.seq),
    select(message.c.conversation, message.c.seq)
    .join(run, _OWN_MESSAGES)
    .where(run.c.run_id.in_(_OLD_RUNS)),
)
_ORDERS_OF_RUNS = _some(
    run_order, run_order.c.id, select(run_order.c.id).where(run_order.c.run_id.in_(_OLD_RUNS))
)
_DELIVERIES_OF_RUNS = _some(
    delivery, delivery.c.id, select(delivery.c.id).where(delivery.c.delivery_id.in_(_OLD_RUNS))
)
_BARE_RUNS = _some(
    run,
    run.c.id,
    select(run.c.id).where(
        run.c.run_id.in_(_OLD_RUNS),
        ~exists().where(run_event.c.run_id == run.c.run_id),
        ~exists().where(run_step.c.run_id == run.c.run_id),
        ~exists().where(run_order.c.run_id == run.c.run_id),
        ~exists().where(_OWN_MESSAGES),
    ),
)
_UNUSED_FORKS = _some(
    fork_context,
    fork_context.c.group_id,
    select(fork_context.c.group_id).where(
        ~exists().where(run.c.group_id == fork_context.c.group_id)
    ),
)
_BY_TABLE = (
    (_OLD_EVENTS, _EVENTS_OF_RUNS),
    (_OLD_STEPS, _STEPS_OF_RUNS),
    (_MESSAGES_OF_RUNS,),
    (_DELIVERIES_OF_RUNS,),
    (_ORDERS_OF_RUNS,),
    (_BARE_RUNS,),
    (_UNUSED_FORKS,),
)


def delete_old(
    connection: Connection,
    *,
    events_before: datetime,
    steps_before: datetime,
    runs_before: datetime,
    limit: int,
) -> int:
    """Delete what is old, up to a limit for each table; how many rows went."""
    values = {
        "events_before": events_before,
        "steps_before": steps_before,
        "runs_before": runs_before,
        "limit": limit,
    }
    gone = 0
    for statements in _BY_TABLE:
        left = limit
        for statement in statements:
            left -= connection.execute(statement, {**values, "most": left}).rowcount
        gone += limit - left
    return gone
