"""Finds what some tests need beside Python: a PostgreSQL server.

It looks and never starts or changes anything; ``.ci/run`` installs and starts what is missing.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Services", "find_services"]

LOCAL_POSTGRES: Final = "postgresql+asyncpg://postgres@127.0.0.1:5432/test"

CONNECT: Final = """
import asyncio, sys
import asyncpg

try:
    asyncio.run(asyncpg.connect(sys.argv[1].replace("+asyncpg", ""), timeout=5))
except (ConnectionRefusedError, TimeoutError):
    sys.exit("no server found")
except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
    sys.exit(f"the server refuses: {error}")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What was found on this machine."""

    env: Mapping[str, str]
    """Environment variables that tell the tests where the services are."""
    missing: Mapping[str, str]
    """Marker of tests -> why they cannot run."""


def find_services(python: Path) -> Services:
    """Look for the services.

    Args:
        python: An interpreter that has asyncpg.
    """
    env: dict[str, str] = {}
    missing: dict[str, str] = {}
    url = os.environ.get("TEST_DATABASE_URL", LOCAL_POSTGRES)
    refusal = refusal_of(python, url)
    if refusal:
        missing["postgres"] = refusal
    else:
        env["TEST_DATABASE_URL"] = url
    return Services(env=env, missing=missing)


def refusal_of(python: Path, url: str) -> str:
    """Why a PostgreSQL database cannot be used; empty if it can."""
    done = subprocess.run([python, "-c", CONNECT, url], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["no answer"])[-1]
