"""A store on PostgreSQL without its driver, in a process of its own."""

import subprocess
import sys


def test_without_the_driver_the_error_says_what_to_install() -> None:
    program = (
        "import asyncio, sys\n"
        "sys.modules['asyncpg'] = None\n"
        "from astrbot_plugin_subagents.manager.store import SqlStore\n"
        "asyncio.run(SqlStore('postgresql://user:s3cret@127.0.0.1:1/name').open())\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert "StoreUnavailable" in ended.stderr
    assert "pip install asyncpg" in ended.stderr
    assert "s3cret" not in ended.stderr.replace(program, "")
