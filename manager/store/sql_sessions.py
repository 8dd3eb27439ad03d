"""Sessions and their agents, as functions over a connection. `SqlStore` calls them."""

from datetime import datetime

from sqlalchemy import BindParameter, Connection, bindparam, delete, exists, select

from ..models import SessionId, SessionRecord, SubAgentConfig
from . import schema
from .codec import agent_values, read_agent, read_session, session_values
from .rows import agent_key, read_sound
from .session_row import keep_session
from .sql_runs import is_unfinished
from .statements import upsert

_session, _agent, _message, _run = schema.session, schema.subagent, schema.message, schema.run

_OF_SESSION: BindParameter[str] = bindparam("of_session")
_LOAD = select(_session).where(_session.c.session == _OF_SESSION)
_SAVE = upsert(_session, "session", left=("home", "last_note"))
_IDLE = (
    select(_session.c.session)
    .where(
        _session.c.last_active_at < bindparam("before"),
        ~exists().where(_run.c.session == _session.c.session, is_unfinished),
    )
    .order_by(_session.c.last_active_at, _session.c.session)
    .limit(bindparam("most"))
)
_DELETE = (
    delete(schema.run_step).where(
        schema.run_step.c.run_id.in_(select(_run.c.run_id).where(_run.c.session == _OF_SESSION))
    ),
    *(
        delete(table).where(table.c.session == _OF_SESSION)
        for table in (
            _run,
            _message,
            _agent,
            schema.shared_entry,
            schema.delivery,
            schema.fork_context,
            schema.run_event,
            schema.run_order,
            # The turn before its calls: a call that is being added waits for it or is seen.
            schema.turn,
            schema.turn_call,
            _session,
        )
    ),
)

_LOAD_AGENTS = (
    select(_agent).where(_agent.c.session == _OF_SESSION).order_by(_agent.c.created_at, _agent.c.id)
)
_SAVE_AGENT = upsert(_agent, "session", "name_key")
_DELETE_AGENT = delete(_agent).where(
    _agent.c.session == _OF_SESSION, _agent.c.name_key == bindparam("of_name")
)
_DELETE_MEMORY = delete(_message).where(
    _message.c.session == _OF_SESSION, _message.c.conversation == bindparam("of_conversation")
)


def load(connection: Connection, session: SessionId) -> SessionRecord | None:
    """The session's record."""
    row = connection.execute(_LOAD, {"of_session": session}).one_or_none()
    return None if row is None else read_session(row)


def save(connection: Connection, record: SessionRecord) -> None:
    """Insert or replace."""
    connection.execute(_SAVE[connection.dialect.name], session_values(record))


def delete_all(connection: Connection, session: SessionId) -> None:
    """Delete all that belongs to the session."""
    for statement in _DELETE:
        connection.execute(statement, {"of_session": session})


def idle(connection: Connection, before: datetime, limit: int) -> list[SessionId]:
    """Sessions without work, the longest idle first."""
    found = connection.scalars(_IDLE, {"before": before, "most": limit})
    return [SessionId(session) for session in found]


def load_agents(connection: Connection, session: SessionId) -> list[SubAgentConfig]:
    """The session's agents, oldest first."""
    values = {"of_session": session}
    return read_sound(connection, _LOAD_AGENTS, values, read=read_agent, number=_agent.c.id)


def save_agent(connection: Connection, session: SessionId, config: SubAgentConfig) -> None:
    """Insert, or replace the one of the same name."""
    keep_session(connection, session, config.created_at)
    connection.execute(_SAVE_AGENT[connection.dialect.name], agent_values(session, config))


def delete_agent(connection: Connection, session: SessionId, config: SubAgentConfig) -> None:
    """Delete the agent and its memory."""
    connection.execute(_DELETE_AGENT, {"of_session": session, "of_name": agent_key(config)})
    connection.execute(
        _DELETE_MEMORY, {"of_session": session, "of_conversation": config.conversation}
    )
