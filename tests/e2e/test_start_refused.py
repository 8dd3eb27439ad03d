"""Starts of the demo that end before AstrBot is ready, and questions where nothing runs."""

import signal
import socket
from pathlib import Path

import pytest

from support.demo_process import Demo, ask

pytestmark = pytest.mark.e2e


def test_nothing_is_asked_where_nothing_runs(tmp_path: Path) -> None:
    asked = ask(tmp_path, "What is memory?")

    assert asked.returncode != 0
    assert "no demo runs" in asked.stderr
    assert asked.stdout == ""


def test_a_taken_port_is_told_before_anything_is_made(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        demo = Demo(tmp_path / "data", PORT=str(port))

        assert demo.end() == 2
    assert f"Port {port}" in demo.lines[-1]
    assert "PORT=" in demo.lines[-1]
    assert not (tmp_path / "data").exists()


def test_a_signal_during_the_start_ends_everything(tmp_path: Path) -> None:
    demo = Demo(tmp_path / "data")
    demo.until("Starting AstrBot")

    assert demo.end(signal.SIGINT) == 0
    assert demo.lines[-1] == "Stopped."
