"""The first schema: all tables, those of later features too.

It repeats `schema.py` on purpose: a revision is what the schema was, and is never changed.
"""

from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0001"
down_revision = None

_JSON = sa.Text().with_variant(sa.JSON(), "postgresql")
_TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade(operations: Operations) -> None:
    """Make all tables."""
    _create_sessions(operations)
    _create_messages(operations)
    _create_runs(operations)
    _create_journal(operations)
    _create_deliveries(operations)


def _create_sessions(operations: Operations) -> None:
    operations.create_table(
        "session",
        _text("session", primary_key=True),
        sa.Column("memory_enabled", sa.Boolean()),
        sa.Column("board_enabled", sa.Boolean()),
        _time("created_at"),
        _time("last_active_at"),
    )
    operations.create_index("ix_session_last_active", "session", ["last_active_at"])
    operations.create_table(
        "subagent",
        _serial(),
        *_texts("session", "name_key", "name", "system_prompt", "description"),
        _json("tools", nullable=True),
        _json("skills", nullable=True),
        *_texts("workdir", "provider_id", "persona_id", "kind"),
        _flag("protected"),
        *_texts("owner", "conversation"),
        _flag("member_memory"),
        _time("created_at"),
        sa.UniqueConstraint("session", "name_key", name="uq_subagent_session_name"),
    )


def _create_messages(operations: Operations) -> None:
    operations.create_table(
        "message",
        _text("conversation"),
        _number("seq"),
        *_texts("session", "run_id"),
        _json("body"),
        _time("at"),
        sa.PrimaryKeyConstraint("conversation", "seq", name="pk_message"),
    )
    operations.create_index("ix_message_session", "message", ["session"])
    operations.create_table(
        "shared_entry",
        _text("session"),
        _number("seq"),
        *_texts("kind", "sender", "sender_key", "owner", "target", "content"),
        _time("at"),
        sa.PrimaryKeyConstraint("session", "seq", name="pk_shared_entry"),
    )


def _create_runs(operations: Operations) -> None:
    operations.create_table(
        "run",
        _serial(),
        *_texts("run_id", "session"),
        *(_text(name, nullable=True) for name in ("agent", "agent_key")),
        *_texts("conversation", "kind"),
        *(_text(name, nullable=True) for name in ("parent", "group_id")),
        _json("depends_on"),
        _flag("background"),
        *_texts("state", "input"),
        _json("image_urls"),
        _text("owner"),
        _json("origin"),
        _time("created_at"),
        *(_time(name, nullable=True) for name in ("started_at", "finished_at")),
        _text("model"),
        _number("steps"),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("input_tokens", "cached_tokens", "output_tokens")
        ),
        _number("tools_given"),
        _json("tools_used"),
        _text("last_text"),
        _json("artifacts"),
        *_texts("question", "cut_short"),
        *(_text(name, nullable=True) for name in ("failure_code", "failure_message")),
        _text("executor"),
        _number("fence"),
        sa.UniqueConstraint("run_id", name="uq_run_run_id"),
    )
    for name, columns in {
        "ix_run_session_created": ["session", "created_at"],
        "ix_run_session_agent_created": ["session", "agent_key", "created_at"],
        "ix_run_state_session_created": ["state", "session", "created_at"],
    }.items():
        operations.create_index(name, "run", columns)


def _create_journal(operations: Operations) -> None:
    operations.create_table(
        "run_step",
        _serial(),
        *_texts("run_id", "key", "name", "arguments", "state", "output"),
        _flag("is_error"),
        _time("at"),
        sa.UniqueConstraint("run_id", "key", name="uq_run_step_run_key"),
    )
    operations.create_table(
        "run_event",
        _serial(),
        _text("session"),
        _text("run_id", nullable=True),
        _text("kind"),
        _json("payload"),
        _time("at"),
        sqlite_autoincrement=True,
    )
    operations.create_index("ix_run_event_session", "run_event", ["session", "id"])
    operations.create_index("ix_run_event_run", "run_event", ["run_id", "id"])


def _create_deliveries(operations: Operations) -> None:
    operations.create_table(
        "delivery",
        _serial(),
        *_texts("delivery_id", "session", "owner", "state", "taker"),
        _time("lease_until", nullable=True),
        _number("attempts"),
        _time("created_at"),
        sa.UniqueConstraint("delivery_id", name="uq_delivery_delivery_id"),
    )
    operations.create_index("ix_delivery_session", "delivery", ["session"])
    operations.create_index("ix_delivery_state_session", "delivery", ["state", "session", "owner"])
    operations.create_table(
        "turn",
        _text("turn_id", primary_key=True),
        *_texts("session", "owner", "message"),
        _json("origin"),
        _json("log"),
        _text("state"),
        _time("started_at"),
        _time("ended_at", nullable=True),
    )
    operations.create_index("ix_turn_session", "turn", ["session"])
    operations.create_index("ix_turn_state", "turn", ["state"])


def _serial() -> sa.Column[Any]:
    return sa.Column("id", _SERIAL, primary_key=True, autoincrement=True)


def _text(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), **{"nullable": False, **options})


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [_text(name) for name in names]


def _json(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, _JSON, **{"nullable": False, **options})


def _time(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, _TIME, **{"nullable": False, **options})


def _number(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _flag(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean(), nullable=False)
