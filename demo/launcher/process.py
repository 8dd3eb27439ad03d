"""AstrBot as a child process: start, log, end.

Its whole output goes to the log file, the important lines also to the screen.
"""

import asyncio
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from .data_folder import DataFolder

STOP_SECONDS = 15.0
LAST_LINES = 25

_SCRIPT = Path(__file__).with_name("host.py")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADER = re.compile(r"^\s*\[\d{2}:\d{2}:\d{2}")
_IMPORTANT = re.compile(r"\[(?:ERRO|ERROR|CRIT|CRITICAL)\]")
# AstrBot looks for news in the internet and does without when there is none.
_HARMLESS = re.compile(r"\[(?:t2i\.network_strategy|utils\.llm_metadata):")
_LINE_LIMIT = 1024 * 1024


class AstrBotProcess:
    """One run of AstrBot in a data folder."""

    def __init__(self, folder: DataFolder, port: int) -> None:
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self._folder = folder
        self._port = port
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self, environment: Mapping[str, str]) -> None:
        """Start AstrBot; it takes some seconds until it answers."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(_SCRIPT),
            "--port",
            str(self._port),
            cwd=self._folder.root,
            env=dict(environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LINE_LIMIT,
            # Ctrl-C in a terminal reaches us alone; we then end it in order.
            start_new_session=True,
        )
        self._reader = asyncio.create_task(self._read(self._process))

    async def ended(self) -> int:
        """Wait until AstrBot has ended by itself, and return its exit code."""
        assert self._process is not None
        assert self._reader is not None
        await asyncio.shield(self._reader)
        return await self._process.wait()

    async def stop(self) -> None:
        """End AstrBot and whatever it started: politely first, then for certain."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await process.wait()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if self._reader is not None:
            await self._reader
        self._process = None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        told = True
        with self._folder.log.open("w", encoding="utf-8") as log:
            while line := await _next_line(process.stdout):
                plain = _COLOUR.sub("", line).rstrip()
                _write(log, plain)
                self.last_lines.append(plain)
                if _HEADER.match(plain):
                    told = not _is_important(plain)
                    if not told:
                        print(f"  astrbot: {plain}", flush=True)
                elif not told:
                    print("  astrbot: (more in the log)", flush=True)
                    told = True


def _is_important(line: str) -> bool:
    return _IMPORTANT.search(line) is not None and _HARMLESS.search(line) is None


async def _next_line(stream: asyncio.StreamReader) -> str:
    try:
        return (await stream.readline()).decode("utf-8", errors="replace")
    except ValueError:
        return "(a line too long to show)\n"


def _write(log: TextIO, line: str) -> None:
    log.write(f"{line}\n")
    log.flush()
