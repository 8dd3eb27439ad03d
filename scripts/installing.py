"""Runs an installer with progress lines, and says in one line why one failed.

The whole output goes to a log file beside the environments. ``environments.py`` decides what is to
be run; this file knows nothing of it but a command.
"""

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, NoReturn

__all__ = ["SetupFailed", "Work", "install", "interrupt"]

PROGRESS_SECONDS: Final = 4.0
"""How often the newest line of the installer is shown."""

DULL: Final = re.compile(r"WARNING|Requirement already|Found existing|.*uninstall", re.IGNORECASE)
"""Lines that do not tell how far an installer is."""

NO_NETWORK: Final = re.compile(
    r"NewConnectionError|NameResolutionError|name resolution|Name or service not known|dns error"
    r"|ConnectTimeout|Read timed out|Network is unreachable|Connection refused|ProxyError"
    r"|tcp connect error|error sending request|No route to host|network was disabled",
    re.IGNORECASE,
)
NOT_FETCHED: Final = re.compile(
    r"No matching distribution found for (?P<pip>[^\n(]+)"
    r"|Failed to fetch: `\S*?/simple/(?P<uv>[^/`]+)"
    r"|Because (?P<missing>\S+) was not found"
)


class SetupFailed(Exception):
    """An environment could not be made; the message is for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Where an installer works, and what it leaves behind."""

    title: str
    """How messages call the environment."""
    log: Path
    lock: IO[str]
    """Handed down to the installer, so that the lock lasts as long as it runs."""
    env: Mapping[str, str]


def install(work: Work, command: Sequence[str]) -> None:
    """Run one command of a set-up to its end, showing where it is.

    Raises:
        SetupFailed: It failed; the message names what could not be fetched and the log.
    """
    with work.log.open("a", encoding="utf-8") as log, started(work, command) as process:
        output = Output(log=log)
        reader = threading.Thread(target=output.read, args=(process,), daemon=True)
        reader.start()
        follow(work, process, output)
        reader.join()
    if process.returncode != 0:
        raise SetupFailed(explain(work))


@contextmanager
def started(work: Work, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a command; whatever ends this process ends the command too."""
    process = subprocess.Popen(
        command,
        env=work.env,
        pass_fds=[work.lock.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield process
    finally:
        signal.signal(signal.SIGTERM, before)
        if process.poll() is None:
            process.terminate()
            process.wait()


def interrupt(*_: object) -> NoReturn:
    """Handle a signal as Ctrl-C is handled, so that what was started is ended in order."""
    raise KeyboardInterrupt


@dataclass(slots=True, kw_only=True)
class Output:
    """The lines that an installer prints, copied to its log."""

    log: IO[str]
    newest: str = field(default="", init=False)

    def read(self, process: subprocess.Popen[str]) -> None:
        """Copy all output until the process closes it."""
        for line in process.stdout or ():
            self.log.write(line)
            self.log.flush()
            text = line.strip()
            if "Retrying" in text:
                self.newest = "no answer from the package index, trying again"
            elif text and not DULL.match(text):
                self.newest = text


def follow(work: Work, process: subprocess.Popen[str], output: Output) -> None:
    """Show the newest line now and then, until the process ends."""
    start = time.monotonic()
    while True:
        try:
            process.wait(timeout=PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            seconds = round(time.monotonic() - start)
            newest = output.newest if len(output.newest) <= 100 else f"{output.newest[:97]}..."
            print(f"[{work.title}] {seconds:3d} s  {newest or 'still working'}", flush=True)
        else:
            return


def explain(work: Work) -> str:
    """One line on why the last command failed."""
    text = work.log.read_text("utf-8", "replace")
    missing = NOT_FETCHED.search(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    last = (errors or lines or ["the installer failed without a word"])[-1]
    if missing:
        name = next(group for group in missing.groups() if group).strip()
        offline = NO_NETWORK.search(text)
        reason = "cannot be reached (no network?)" if offline else "has no version that fits"
        why = f"could not fetch {name!r}: the package index {reason}"
    elif NO_NETWORK.search(last):
        why = "could not fetch the packages: the package index cannot be reached (no network?)"
    else:
        why = last.rstrip(".")
    return f"{work.title}: {why}. Whole output: {work.log.parent.name}/{work.log.name}"
