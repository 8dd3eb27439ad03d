"""Starts `demo/run.py` and `demo/ask.py` as processes, the way `make run` and `make ask` do."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 180
END_SECONDS = 60


def environment(data: Path, **more: str) -> dict[str, str]:
    """Return this process's environment without a real model, for one data folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return {**kept, "DATA": str(data), "SESSION": "", "URL": "", "TIMEOUT": "120", **more}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Demo:
    """One run of `demo/run.py`, or of another program of the demo."""

    def __init__(self, data: Path, *, program: str = "demo/run.py", **more: str) -> None:
        self.port = free_port()
        self.data = data
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, program],
            cwd=ROOT,
            env=environment(data, **{"PORT": str(self.port), **more}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._family: list[psutil.Process] = []

    def until(self, start: str) -> str:
        """Read its output up to the line that begins so; its end is a failure."""
        assert self.process.stdout is not None
        guard = threading.Timer(READY_SECONDS, self.process.kill)
        guard.start()
        try:
            for line in self.process.stdout:
                self.lines.append(line.rstrip("\n"))
                if line.startswith(start):
                    self._family = psutil.Process(self.process.pid).children(recursive=True)
                    return self.lines[-1]
        finally:
            guard.cancel()
        pytest.fail(f"no line {start!r} in:\n" + "\n".join(self.lines))

    def end(self, kind: signal.Signals | None = None) -> int:
        """Send a signal if given, and wait for its end; nothing that it started may be left."""
        if kind is not None:
            self.process.send_signal(kind)
        try:
            output, _ = self.process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.lines += output.splitlines()
        assert [each for each in self._family if each.is_running()] == []
        return self.process.returncode

    @property
    def astrbot(self) -> psutil.Process:
        (process,) = psutil.Process(self.process.pid).children()
        return process


@contextmanager
def started(data: Path, **more: str) -> Iterator[Demo]:
    demo = Demo(data, **more)
    try:
        demo.until("ready ")
        yield demo
    finally:
        if demo.process.poll() is None:
            demo.end(signal.SIGTERM)


def ask(data: Path, question: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "demo/ask.py", question],
        cwd=ROOT,
        env=environment(data, **more),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def tools_and_answer(output: str) -> tuple[list[tuple[str, dict[str, object]]], str]:
    """Part the output of `ask` into its tool calls and its answer."""
    head, answer = output.split("\nanswer\n")
    calls = [line.split(" ", 2)[1:] for line in head.splitlines() if line.startswith("tool ")]
    return [(name, json.loads(arguments)) for name, arguments in calls], answer


def session_of(output: str) -> str:
    first = output.splitlines()[0]
    assert first.startswith("session ")
    return first.removeprefix("session ")
