"""AstrBot as a child process: start and end."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .astrbot_output import AstrBotOutput
from .data_folder import DataFolder

STOP_SECONDS = 15.0

_SCRIPT = Path(__file__).with_name("host.py")
_LINE_LIMIT = 1024 * 1024


class AstrBotProcess:
    """One run of AstrBot in a data folder."""

    def __init__(self, folder: DataFolder, port: int) -> None:
        self._output = AstrBotOutput()
        self._folder = folder
        self._port = port
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """Its process id; 0 while there is none."""
        return self._process.pid if self._process is not None else 0

    @property
    def last_lines(self) -> Sequence[str]:
        """The newest lines of its output."""
        return self._output.last_lines

    def be_quiet(self) -> None:
        """Show no more of its messages; they still go to the log."""
        self._output.is_shown = False

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
        with self._folder.log.open("w", encoding="utf-8") as file:
            while line := await _next_line(process.stdout):
                self._output.take(line, file)


async def _next_line(stream: asyncio.StreamReader) -> str:
    try:
        return (await stream.readline()).decode("utf-8", errors="replace")
    except ValueError:
        return "(a line too long to show)\n"
