"""Runs of the `task` tool, what their forks begin with, turns with their calls, and retention.

It repeats `schema.py` on purpose: a revision is what the schema was, and is never changed.
"""

from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0002"
down_revision = "0001"

_JSON = sa.Text().with_variant(sa.JSON(), "postgresql")
_TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade(operations: Operations) -> None:
    """Change the tables of the first schema; every row that was ever written stays."""
    operations.add_column("run", sa.Column("task", _JSON, nullable=True))
    operations.create_index("ix_run_group", "run", ["group_id", "session", "created_at"])
    operations.create_index("ix_run_finished", "run", ["finished_at"])
    operations.create_index("ix_run_event_at", "run_event", ["at"])
    _create_fork_contexts(operations)
    _create_turns(operations)


def _create_fork_contexts(operations: Operations) -> None:
    operations.create_table(
        "fork_context",
        _text("group_id", primary_key=True),
        _text("session"),
        _column("body", _JSON),
        _column("created_at", _TIME),
    )
    operations.create_index("ix_fork_context_session", "fork_context", ["session"])


def _create_turns(operations: Operations) -> None:
    # No version that made the first schema wrote turns, so their table is made anew.
    operations.drop_table("turn")
    operations.create_table(
        "turn",
        _serial(),
        *(_text(name) for name in ("turn_id", "session", "owner")),
        _column("origin", _JSON),
        _text("message"),
        _column("image_urls", _JSON),
        _text("executor"),
        _column("began_at", _TIME),
        sa.UniqueConstraint("turn_id", name="uq_turn_turn_id"),
    )
    operations.create_index("ix_turn_session", "turn", ["session"])
    operations.create_table(
        "turn_call",
        _serial(),
        *(_text(name) for name in ("turn_id", "session", "tool", "arguments", "reply")),
        _column("at", _TIME),
    )
    operations.create_index("ix_turn_call_turn", "turn_call", ["turn_id", "id"])


def _serial() -> sa.Column[Any]:
    return sa.Column("id", _SERIAL, primary_key=True, autoincrement=True)


def _text(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), **{"nullable": False, **options})


def _column(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)
