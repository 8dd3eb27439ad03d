"""The tables, as SQLAlchemy Core knows them. The migrations make them; a test compares both.

There are no foreign keys: a session's rows are written in any order and deleted by
`sql_sessions.delete_all`, and each check would be paid at every step of every run. `id` columns
give the order of insertion where times may be equal.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
)

from .columns import CleanText, JsonText, SerialNumber, UtcDateTime


def _serial() -> Column[int]:
    return Column("id", SerialNumber, primary_key=True, autoincrement=True)


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, CleanText(), **{"nullable": False, **options})


def _json(name: str, **options: Any) -> Column[str]:
    return Column(name, JsonText, **{"nullable": False, **options})


def _number(name: str) -> Column[int]:
    return Column(name, Integer(), nullable=False)


def _tokens(name: str) -> Column[int]:
    return Column(name, BigInteger(), nullable=False)


def _flag(name: str, **options: Any) -> Column[bool]:
    return Column(name, Boolean(), **{"nullable": False, **options})


def _time(name: str, **options: Any) -> Column[Any]:
    return Column(name, UtcDateTime(), **{"nullable": False, **options})


STAYS = "stays"
"""Marks a column that means something to the processes of this store alone: it is not exported."""

metadata = MetaData()

session = Table(
    "session",
    metadata,
    _text("session", primary_key=True),
    _flag("memory_enabled", nullable=True),
    _flag("board_enabled", nullable=True),
    _time("created_at"),
    _time("last_active_at"),
    # Whose the session is where several processes share the store; empty is nobody's yet.
    _text("home", nullable=True, info={STAYS: True}),
    # The highest number that a note of its board ever had; empty is that of the newest note.
    Column("last_note", Integer(), nullable=True, info={STAYS: True}),
    Index("ix_session_last_active", "last_active_at"),
    Index("ix_session_home", "home"),
)

subagent = Table(
    "subagent",
    metadata,
    _serial(),
    _text("session"),
    _text("name_key"),
    _text("name"),
    _text("system_prompt"),
    _text("description"),
    _json("tools", nullable=True),
    _json("skills", nullable=True),
    _text("workdir"),
    _text("provider_id"),
    _text("persona_id"),
    _text("kind"),
    _flag("protected"),
    _text("owner"),
    _text("conversation"),
    _flag("member_memory"),
    _time("created_at"),
    UniqueConstraint("session", "name_key", name="uq_subagent_session_name"),
)

message = Table(
    "message",
    metadata,
    _text("conversation"),
    _number("seq"),
    _text("session"),
    _text("run_id"),
    _json("body"),
    _time("at"),
    PrimaryKeyConstraint("conversation", "seq", name="pk_message"),
    Index("ix_message_session", "session"),
)

run = Table(
    "run",
    metadata,
    _serial(),
    _text("run_id"),
    _text("session"),
    _text("agent", nullable=True),
    _text("agent_key", nullable=True),
    _text("conversation"),
    _text("kind"),
    _text("parent", nullable=True),
    _text("group_id", nullable=True),
    _json("depends_on"),
    _flag("background"),
    _text("state"),
    _text("input"),
    _json("image_urls"),
    _text("owner"),
    _json("origin"),
    _time("created_at"),
    _time("started_at", nullable=True),
    _time("finished_at", nullable=True),
    _text("model"),
    _number("steps"),
    _tokens("input_tokens"),
    _tokens("cached_tokens"),
    _tokens("output_tokens"),
    _number("tools_given"),
    _json("tools_used"),
    _text("last_text"),
    _json("artifacts"),
    _text("question"),
    _text("cut_short"),
    _text("failure_code", nullable=True),
    _text("failure_message", nullable=True),
    _text("executor"),
    _number("fence"),
    _json("task", nullable=True),
    UniqueConstraint("run_id", name="uq_run_run_id"),
    Index("ix_run_created", "created_at"),
    Index("ix_run_session_created", "session", "created_at"),
    Index("ix_run_session_agent_created", "session", "agent_key", "created_at"),
    Index("ix_run_state_session_created", "state", "session", "created_at"),
    Index("ix_run_group", "group_id", "session", "created_at"),
    Index("ix_run_finished", "finished_at"),
)

fork_context = Table(
    "fork_context",
    metadata,
    _text("group_id", primary_key=True),
    _text("session"),
    _json("body"),
    _time("created_at"),
    Index("ix_fork_context_session", "session"),
)

run_step = Table(
    "run_step",
    metadata,
    _serial(),
    _text("run_id"),
    _text("key"),
    _text("name"),
    _text("arguments"),
    _text("state"),
    _text("output"),
    _flag("is_error"),
    _time("at"),
    UniqueConstraint("run_id", "key", name="uq_run_step_run_key"),
)

run_event = Table(
    "run_event",
    metadata,
    _serial(),
    _text("session"),
    _text("run_id", nullable=True),
    _text("kind"),
    _json("payload"),
    _time("at"),
    Index("ix_run_event_session", "session", "id"),
    Index("ix_run_event_run", "run_id", "id"),
    Index("ix_run_event_at", "at"),
    # A page asks for what came after an id, so that an id must never be given twice.
    sqlite_autoincrement=True,
)

shared_entry = Table(
    "shared_entry",
    metadata,
    _text("session"),
    _number("seq"),
    _text("kind"),
    _text("sender"),
    _text("sender_key"),
    _text("owner"),
    _text("target"),
    _text("content"),
    _time("at"),
    PrimaryKeyConstraint("session", "seq", name="pk_shared_entry"),
)

delivery = Table(
    "delivery",
    metadata,
    _serial(),
    _text("delivery_id"),
    _text("session"),
    _text("owner"),
    _text("state"),
    _text("taker"),
    _time("lease_until", nullable=True),
    _number("attempts"),
    _time("created_at"),
    UniqueConstraint("delivery_id", name="uq_delivery_delivery_id"),
    Index("ix_delivery_session", "session"),
    Index("ix_delivery_state_session", "state", "session", "owner"),
)

turn = Table(
    "turn",
    metadata,
    _serial(),
    _text("turn_id"),
    _text("session"),
    _text("owner"),
    _json("origin"),
    _text("message"),
    _json("image_urls"),
    _text("executor"),
    _time("began_at"),
    UniqueConstraint("turn_id", name="uq_turn_turn_id"),
    Index("ix_turn_session", "session"),
)

run_order = Table(
    "run_order",
    metadata,
    _serial(),
    _text("session"),
    _text("run_id"),
    _text("kind"),
    _text("text"),
    _text("about"),
    _time("at"),
    Index("ix_run_order_run", "run_id", "id"),
)

# A row per call: the log of a long turn is a megabyte, which no call should write anew.
turn_call = Table(
    "turn_call",
    metadata,
    _serial(),
    _text("turn_id"),
    _text("session"),
    _text("tool"),
    _text("arguments"),
    _text("reply"),
    _time("at"),
    Index("ix_turn_call_turn", "turn_id", "id"),
)
