"""Starts two AstrBots that share one PostgreSQL database and their work; `make workers` calls it.

It says which of them executes which task. Environment: DATABASE_URL (a PostgreSQL server on which a
database for the demo may be made; else one that answers at 127.0.0.1:5432), and PORT, DATA and
OPENAI_* as for `make run`.
"""

import sys
from pathlib import Path

from launcher.entry import begin

CLONE = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the demo and return its exit code."""
    return begin("workers", "make workers", CLONE)


if __name__ == "__main__":
    sys.exit(main())
