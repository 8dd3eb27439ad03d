"""Runs and their journal, as functions over a connection. `SqlStore` calls them."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, or_, select, update

from ..errors import LostRun
from ..fork_context import ForkContext
from ..models import TERMINAL, GroupId, Run, RunId, RunState, RunStep, SessionId
from . import sql_deliveries, sql_messages
from .codec_forks import fork_values, read_fork
from .codec_runs import read_run, read_step, run_changes, run_values, step_values
from .protocol import RunWrite
from .rows import key_of, read_sound
from .schema import fork_context, run, run_step
from .session_row import is_of_home, keep_session
from .statements import upsert

is_unfinished = or_(*(run.c.state == state.value for state in RunState if state not in TERMINAL))
"""A condition on `run`, spelled out so that its statements are compiled once."""

_OF_RUN: BindParameter[str] = bindparam("of_run")
_OF_SESSION: BindParameter[str] = bindparam("of_session")

_INSERT = insert(run)
_TAKE = (
    update(run)
    .where(run.c.run_id == _OF_RUN, is_unfinished)
    .values(fence=run.c.fence + 1)
    .returning(run)
)
_WRITE = update(run).where(
    run.c.run_id == _OF_RUN, run.c.fence == bindparam("of_fence"), is_unfinished
)
_SAVE_STEP = upsert(run_step, "run_id", "key")

_INSERT_FORK = insert(fork_context)
_GET_FORK = select(fork_context).where(
    fork_context.c.group_id == bindparam("of_group"), fork_context.c.session == _OF_SESSION
)

_GET = select(run).where(run.c.run_id == _OF_RUN, run.c.session == _OF_SESSION)
_OF_SESSION_NEWEST = (
    select(run)
    .where(run.c.session == _OF_SESSION)
    .order_by(run.c.created_at.desc(), run.c.id.desc())
    .limit(bindparam("most"))
)
_UNFINISHED = select(run).where(is_unfinished).order_by(run.c.created_at, run.c.id)
_STEPS = select(run_step).where(run_step.c.run_id == _OF_RUN).order_by(run_step.c.id)
_TOKENS = select(func.sum(run.c.input_tokens + run.c.cached_tokens + run.c.output_tokens)).where(
    run.c.session == _OF_SESSION, run.c.created_at >= bindparam("since")
)


def add(connection: Connection, runs: Sequence[Run], fork: ForkContext | None) -> None:
    """Insert new runs, and what the forks among them begin with."""
    if runs:
        for session, at in {item.session: item.created_at for item in runs}.items():
            keep_session(connection, session, at)
        connection.execute(_INSERT, [run_values(item) for item in runs])
    if fork is not None:
        connection.execute(_INSERT_FORK, fork_values(fork))


def take(connection: Connection, item: Run) -> Run | None:
    """Take an unfinished run; the stored one with its new fence."""
    values = {
        "of_run": item.run_id,
        "state": item.state.value,
        "executor": item.executor,
        "started_at": item.started_at,
    }
    row = connection.execute(_TAKE, values).one_or_none()
    return None if row is None else read_run(row)


def write(connection: Connection, moment: RunWrite) -> None:
    """Write one moment of a run.

    Raises:
        LostRun: It is over, or somebody else's.
    """
    item = moment.run
    values = {"of_run": item.run_id, "of_fence": item.fence, **run_changes(item)}
    if connection.execute(_WRITE, values).rowcount == 0:
        raise LostRun(item.run_id)
    if moment.steps:
        save = _SAVE_STEP[connection.dialect.name]
        connection.execute(save, [step_values(step) for step in moment.steps])
    sql_messages.add(connection, item.session, moment.messages)
    if moment.delivery is not None:
        sql_deliveries.add(connection, moment.delivery)


def get(connection: Connection, session: SessionId, run_id: RunId) -> Run | None:
    """One run of this session."""
    row = connection.execute(_GET, {"of_session": session, "of_run": run_id}).one_or_none()
    return None if row is None else read_run(row)


def get_fork(connection: Connection, session: SessionId, group: GroupId) -> ForkContext | None:
    """What the forks of a group of this session begin with."""
    values = {"of_session": session, "of_group": group}
    row = connection.execute(_GET_FORK, values).one_or_none()
    return None if row is None else read_fork(row)


def of_session(
    connection: Connection,
    session: SessionId,
    *,
    states: Collection[RunState] | None,
    agent: str | None,
    group: GroupId | None,
    limit: int,
) -> list[Run]:
    """Runs of a session, newest first."""
    statement = _OF_SESSION_NEWEST
    if states is not None:
        statement = statement.where(run.c.state.in_([state.value for state in states]))
    if agent is not None:
        statement = statement.where(run.c.agent_key == key_of(agent))
    if group is not None:
        statement = statement.where(run.c.group_id == group)
    values = {"of_session": session, "most": limit}
    return read_sound(connection, statement, values, read=read_run, number=run.c.id)


def unfinished(connection: Connection, home: str | None) -> list[Run]:
    """Runs of all sessions, or of those of a home, that are not over, oldest first."""
    wanted = _UNFINISHED if home is None else _UNFINISHED.where(is_of_home(run.c.session, home))
    return read_sound(connection, wanted, {}, read=read_run, number=run.c.id)


def steps(connection: Connection, run_id: RunId) -> list[RunStep]:
    """The journal of a run, in the order in which its entries began."""
    return [read_step(row) for row in connection.execute(_STEPS, {"of_run": run_id})]


def tokens(connection: Connection, session: SessionId, since: datetime) -> int:
    """Tokens of the session's runs created since then."""
    return int(connection.scalar(_TOKENS, {"of_session": session, "since": since}) or 0)
