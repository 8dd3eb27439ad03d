"""Whose a session is, the numbers of its notes, and what is ordered of runs.

It repeats `schema.py` on purpose: a revision is what the schema was, and is never changed.
"""

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0003"
down_revision = "0002"

_TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade(operations: Operations) -> None:
    """Add to the tables of the second schema; every row that was ever written stays."""
    operations.add_column("session", sa.Column("home", sa.Text(), nullable=True))
    operations.add_column("session", sa.Column("last_note", sa.Integer(), nullable=True))
    operations.create_index("ix_session_home", "session", ["home"])
    operations.create_index("ix_run_created", "run", ["created_at"])
    texts = ("session", "run_id", "kind", "text", "about")
    operations.create_table(
        "run_order",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in texts),
        sa.Column("at", _TIME, nullable=False),
    )
    operations.create_index("ix_run_order_run", "run_order", ["run_id", "id"])
