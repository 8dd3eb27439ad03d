"""Looks over many sessions, as functions over a connection. `SqlPages` calls them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    case,
    false,
    func,
    select,
)

from ..models import (
    TERMINAL,
    ConversationId,
    DeliveryState,
    RunId,
    RunState,
    SessionId,
    StoredMessage,
    Usage,
)
from .codec import read_message
from .codec_runs import read_run
from .protocol_pages import (
    MessagePage,
    RunPage,
    RunSearch,
    SessionPage,
    SessionsOnly,
    SessionSummary,
    StoreCounts,
    UsageBy,
    UsageSum,
)
from .rows import DamagedRow, key_of, read_sound
from .schema import delivery, message, run, session, subagent
from .sql_runs import is_unfinished

_DAY: BindParameter[datetime] = bindparam("day")
_IS_FAILED = run.c.state.in_([RunState.FAILED.value, RunState.TIMED_OUT.value])
_TOKENS = run.c.input_tokens + run.c.cached_tokens + run.c.output_tokens
_USED = (
    func.coalesce(func.sum(run.c.input_tokens), 0).label("input"),
    func.coalesce(func.sum(run.c.cached_tokens), 0).label("cached"),
    func.coalesce(func.sum(run.c.output_tokens), 0).label("output"),
)


def _how_many(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


_LIVE = select(run.c.session).where(is_unfinished)
_FAILED_TODAY = select(run.c.session).where(_IS_FAILED, run.c.finished_at >= _DAY)
_RUNS_OF_SESSIONS = (
    select(
        run.c.session,
        func.count().label("runs"),
        *(
            _how_many(run.c.state == state.value).label(state.value)
            for state in RunState
            if state not in TERMINAL
        ),
        _how_many(and_(_IS_FAILED, run.c.finished_at >= _DAY)).label("failed"),
        func.coalesce(func.sum(case((run.c.created_at >= _DAY, _TOKENS), else_=0)), 0).label(
            "tokens"
        ),
    )
    .where(run.c.session.in_(bindparam("sessions", expanding=True)))
    .group_by(run.c.session)
)
_AGENTS_OF_SESSIONS = (
    select(subagent.c.session, func.count().label("agents"))
    .where(
        subagent.c.session.in_(bindparam("sessions", expanding=True)),
        subagent.c.kind == "dynamic",
    )
    .group_by(subagent.c.session)
)


def session_page(
    connection: Connection,
    *,
    text: str,
    only: SessionsOnly,
    day: datetime,
    offset: int,
    limit: int,
) -> SessionPage:
    """Sessions, the most recently active first."""
    wanted = select(session.c.session, session.c.created_at, session.c.last_active_at)
    if text:
        wanted = wanted.where(_holds(session.c.session, text))
    if only != "all":
        wanted = wanted.where(session.c.session.in_(_LIVE if only == "live" else _FAILED_TODAY))
    newest_first = wanted.order_by(session.c.last_active_at.desc(), session.c.session)
    rows = connection.execute(newest_first.offset(offset).limit(limit), {"day": day}).all()
    return SessionPage(
        items=_summaries(connection, rows, day),
        total=_count(connection, wanted, {"day": day}),
    )


def session_summary(
    connection: Connection, session_id: SessionId, *, day: datetime
) -> SessionSummary | None:
    """One session with its counts."""
    wanted = select(session.c.session, session.c.created_at, session.c.last_active_at)
    row = connection.execute(wanted.where(session.c.session == session_id)).one_or_none()
    return None if row is None else _summaries(connection, [row], day)[0]


def _summaries(connection: Connection, rows: Sequence[Any], day: datetime) -> list[SessionSummary]:
    names = [row.session for row in rows]
    values = {"sessions": names, "day": day}
    agents = {row.session: row.agents for row in connection.execute(_AGENTS_OF_SESSIONS, values)}
    runs = {row.session: row for row in connection.execute(_RUNS_OF_SESSIONS, values)}
    found = []
    for row in rows:
        of_runs = runs.get(row.session)
        counts = {
            each: int(getattr(of_runs, each)) if of_runs is not None else 0
            for each in ("running", "queued", "waiting", "runs", "failed", "tokens")
        }
        found.append(
            SessionSummary(
                session=row.session,
                created_at=row.created_at,
                last_active_at=row.last_active_at,
                agents=agents.get(row.session, 0),
                **counts,
            )
        )
    return found


def run_page(connection: Connection, search: RunSearch, *, offset: int, limit: int) -> RunPage:
    """Runs, newest first."""
    wanted = select(run).where(*_conditions(search))
    newest_first = wanted.order_by(run.c.created_at.desc(), run.c.id.desc())
    page = newest_first.offset(offset).limit(limit)
    return RunPage(
        items=read_sound(connection, page, {}, read=read_run, number=run.c.id),
        total=_count(connection, wanted.with_only_columns(run.c.id), {}),
    )


def _conditions(search: RunSearch) -> list[ColumnElement[bool]]:
    given = (
        (search.session, lambda session: run.c.session == session),
        (search.agent, lambda agent: run.c.agent_key == key_of(agent)),
        (search.states or None, lambda states: run.c.state.in_([each.value for each in states])),
        (search.kind, lambda kind: run.c.kind == kind.value),
        (search.group, lambda group: run.c.group_id == group),
        (search.text or None, lambda text: _holds(run.c.input, text)),
        (search.since, lambda since: run.c.created_at >= since),
        (search.finished_since, lambda since: run.c.finished_at >= since),
    )
    return [condition(value) for value, condition in given if value is not None]


def counts(connection: Connection, *, day: datetime) -> StoreCounts:
    """What there is in the whole store."""
    by_state = select(run.c.state, func.count()).group_by(run.c.state)
    today = connection.execute(
        select(func.count().label("runs"), *_USED).where(run.c.created_at >= day)
    ).one()
    return StoreCounts(
        sessions=connection.scalar(select(func.count()).select_from(session)) or 0,
        agents=connection.scalar(
            select(func.count()).select_from(subagent).where(subagent.c.kind == "dynamic")
        )
        or 0,
        states=_states(connection, by_state.where(is_unfinished)),
        ended=_states(connection, by_state.where(run.c.finished_at >= day)),
        runs=today.runs,
        usage=Usage(input=int(today.input), cached=int(today.cached), output=int(today.output)),
    )


def _states(connection: Connection, statement: Select[Any]) -> dict[RunState, int]:
    known = {state.value for state in RunState}
    return {
        RunState(state): number for state, number in connection.execute(statement) if state in known
    }


def usage_sums(
    connection: Connection, by: UsageBy, *, since: datetime, of: SessionId | None, most: int
) -> list[UsageSum]:
    """What runs used, by day, agent, model or session."""
    key = _key(connection.dialect.name, by).label("key")
    used = func.sum(_TOKENS).label("tokens")
    statement = (
        select(key, func.count().label("runs"), _how_many(_IS_FAILED).label("failed"), *_USED)
        .where(run.c.created_at >= since)
        .group_by(key)
        .order_by(*([key] if by == "day" else [used.desc(), key]))
        .limit(most)
    )
    if of is not None:
        statement = statement.where(run.c.session == of)
    return [
        UsageSum(
            key=row.key,
            runs=row.runs,
            failed=int(row.failed),
            usage=Usage(input=int(row.input), cached=int(row.cached), output=int(row.output)),
        )
        for row in connection.execute(statement)
    ]


def _key(dialect: str, by: UsageBy) -> ColumnElement[str]:
    match by:
        case "agent":
            return func.coalesce(run.c.agent, "")
        case "model":
            return run.c.model
        case "session":
            return run.c.session
    if dialect == "sqlite":
        # times are texts there, the day first
        return func.substr(run.c.created_at, 1, 10, type_=Text())
    return func.to_char(func.timezone("UTC", run.c.created_at), "YYYY-MM-DD", type_=Text())


def message_page(
    connection: Connection,
    conversation: ConversationId,
    run_id: RunId | None,
    *,
    offset: int,
    limit: int,
) -> MessagePage:
    """Messages of a conversation, or those that one run added to it, oldest first."""
    wanted = select(message).where(message.c.conversation == conversation)
    if run_id is not None:
        wanted = wanted.where(message.c.run_id == run_id)
    page = wanted.order_by(message.c.seq).offset(offset).limit(limit)
    found: list[StoredMessage] = read_sound(
        connection, page, {}, read=read_message, number=message.c.seq
    )
    total = _count(connection, wanted.with_only_columns(message.c.seq), {})
    return MessagePage(items=found, total=total)


def deliveries_of(connection: Connection, run_ids: Collection[RunId]) -> dict[RunId, DeliveryState]:
    """Where the results of these runs stand."""
    statement = select(delivery.c.delivery_id, delivery.c.state).where(
        delivery.c.delivery_id.in_(list(run_ids)) if run_ids else false()
    )
    found = {}
    for run_id, state in connection.execute(statement):
        try:
            found[run_id] = DeliveryState(state)
        except ValueError as error:
            raise DamagedRow(f"a stored delivery is damaged ({error})") from error
    return found


def _holds(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether a column holds a text; Latin letters count without regard to case."""
    return func.lower(column).contains(text.lower(), autoescape=True) | column.contains(
        text, autoescape=True
    )


def _count(connection: Connection, statement: Select[Any], values: dict[str, Any]) -> int:
    return connection.scalar(select(func.count()).select_from(statement.subquery()), values) or 0
