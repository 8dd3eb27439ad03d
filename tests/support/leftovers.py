"""What a test leaves in the plugin's store, and the next reload of the plugin would bring."""

import sqlite3
from contextlib import closing
from pathlib import Path

from .astrbot_root import PLUGIN_NAME

_CLOSE = "UPDATE delivery SET state = 'closed' WHERE state IN ('pending', 'claimed', 'handed')"


def close_leftovers(data: Path) -> None:
    """Let nothing that waits in the outbox be brought any more; sessions in memory are not asked.

    Args:
        data: AstrBot's data folder.
    """
    file = data / "plugin_data" / PLUGIN_NAME / "subagents.sqlite3"
    if not file.exists():
        return
    with closing(sqlite3.connect(file, timeout=10)) as store, store:
        if store.execute("SELECT 1 FROM sqlite_master WHERE name = 'delivery'").fetchone():
            store.execute(_CLOSE)
