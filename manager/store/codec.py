"""Rows <-> sessions, agents, messages and notes on the board.

Writing gives a dictionary of column values. Reading is strict: a row that no record can be made
of raises `DamagedRow` and is never guessed at. Runs are in `codec_runs.py`.
"""

from typing import Any

from sqlalchemy import Row

from ..models import (
    AgentKind,
    SessionId,
    SessionRecord,
    SharedEntry,
    StoredMessage,
    SubAgentConfig,
)
from .rows import Values, agent_key, key_of, read_names, read_object, strict
from .texts import dump_json


def session_values(record: SessionRecord) -> Values:
    """The row of a session."""
    return {
        "session": record.session,
        "memory_enabled": record.memory_enabled,
        "board_enabled": record.board_enabled,
        "created_at": record.created_at,
        "last_active_at": record.last_active_at,
    }


@strict("session")
def read_session(row: Row[Any]) -> SessionRecord:
    """The session of a row."""
    return SessionRecord(
        session=row.session,
        memory_enabled=row.memory_enabled,
        board_enabled=row.board_enabled,
        created_at=row.created_at,
        last_active_at=row.last_active_at,
    )


def agent_values(session: SessionId, config: SubAgentConfig) -> Values:
    """The row of an agent."""
    return {
        "session": session,
        "name_key": agent_key(config),
        "name": config.name,
        "system_prompt": config.system_prompt,
        "description": config.description,
        "tools": None if config.tools is None else dump_json(config.tools),
        "skills": None if config.skills is None else dump_json(config.skills),
        "workdir": config.workdir,
        "provider_id": config.provider_id,
        "persona_id": config.persona_id,
        "kind": config.kind.value,
        "protected": config.protected,
        "owner": config.owner,
        "conversation": config.conversation,
        "member_memory": config.member_memory,
        "created_at": config.created_at,
    }


@strict("agent")
def read_agent(row: Row[Any]) -> SubAgentConfig:
    """The agent of a row."""
    return SubAgentConfig(
        name=row.name,
        system_prompt=row.system_prompt,
        description=row.description,
        tools=None if row.tools is None else read_names(row.tools),
        skills=None if row.skills is None else read_names(row.skills),
        workdir=row.workdir,
        provider_id=row.provider_id,
        persona_id=row.persona_id,
        kind=AgentKind(row.kind),
        protected=row.protected,
        owner=row.owner,
        conversation=row.conversation,
        member_memory=row.member_memory,
        created_at=row.created_at,
    )


def message_values(session: SessionId, message: StoredMessage) -> Values:
    """The row of a message."""
    return {
        "conversation": message.conversation,
        "seq": message.seq,
        "session": session,
        "run_id": message.run_id,
        "body": dump_json(message.body),
        "at": message.at,
    }


@strict("message")
def read_message(row: Row[Any]) -> StoredMessage:
    """The message of a row."""
    return StoredMessage(
        conversation=row.conversation,
        seq=row.seq,
        run_id=row.run_id,
        body=read_object(row.body),
        at=row.at,
    )


def entry_values(session: SessionId, entry: SharedEntry) -> Values:
    """The row of a note on the board."""
    return {
        "session": session,
        "seq": entry.seq,
        "kind": entry.kind,
        "sender": entry.sender,
        "sender_key": key_of(entry.sender),
        "owner": entry.owner,
        "target": entry.target,
        "content": entry.content,
        "at": entry.at,
    }


@strict("board entry")
def read_entry(row: Row[Any]) -> SharedEntry:
    """The note of a row."""
    return SharedEntry(
        seq=row.seq,
        kind=row.kind,
        sender=row.sender,
        owner=row.owner,
        target=row.target,
        content=row.content,
        at=row.at,
    )
