# ruff: noqa: RUF001 - a question in Chinese is meant
"""What `make run` and `make ask` call, as processes: a real AstrBot with the plugin in it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 180
END_SECONDS = 60
EXAMPLE = "How do I protect a sub-agent, and what happens when a run times out?"
QUOTE = re.compile(r"^> (?P<text>.+)\n\nsource: (?P<path>[^#\n]+)#(?P<heading>.+)$", re.MULTILINE)


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
    """One run of `demo/run.py`."""

    def __init__(self, data: Path, **more: str) -> None:
        self.port = free_port()
        self.data = data
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "demo/run.py"],
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


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with started(tmp_path_factory.mktemp("demo") / "data") as demo:
        yield demo


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


def test_the_newcomers_question_is_answered_by_two_sub_agents_side_by_side(running: Demo) -> None:
    asked = ask(running.data, EXAMPLE)

    assert asked.returncode == 0, asked.stderr
    tools, answer = tools_and_answer(asked.stdout)
    assert [name for name, _ in tools] == [
        "create_subagent",
        "create_subagent",
        "transfer_to_protect_subagent",
        "transfer_to_run_timeout",
        "wait_for_subagent",
    ]
    assert all(arguments["background_task"] for name, arguments in tools if "transfer" in name)
    assert "offline stand-in" in answer
    quotes = list(QUOTE.finditer(answer))
    assert len(quotes) >= 2
    for quote in quotes:
        document = " ".join((ROOT / quote["path"]).read_text("utf-8").split())
        assert quote["text"].removesuffix(" ...") in document
        assert quote["heading"] in document.replace("`", "")


def test_the_last_line_of_the_start_tells_address_and_login(running: Demo) -> None:
    word, url, user, password = running.lines[-1].split(" ")

    assert (word, url, user) == ("ready", f"http://127.0.0.1:{running.port}", "astrbot")
    by_address = ask(Path("unused"), "hello", URL=url, USER=user, PASSWORD=password)
    assert by_address.returncode == 0, by_address.stderr
    refused = ask(Path("unused"), "hello", URL=url, USER=user, PASSWORD="wrong")
    assert refused.returncode != 0
    assert "refused the login" in refused.stderr


def test_other_questions_are_answered_from_their_own_words(running: Demo) -> None:
    one = ask(running.data, "Which states does a task have?")
    chinese = ask(running.data, "如何保护子代理？重启以后会怎样？")

    tools, answer = tools_and_answer(one.stdout)
    assert [name.split("_")[0] for name, _ in tools] == ["create", "transfer"]
    assert QUOTE.search(answer)
    tools, answer = tools_and_answer(chinese.stdout)
    assert sum(name == "create_subagent" for name, _ in tools) == 2
    assert "我是离线替身" in answer


def test_a_second_start_on_the_same_folder_is_refused_while_the_first_runs(running: Demo) -> None:
    second = Demo(running.data)

    assert second.end() == 2
    assert running.lines[-1].split(" ")[1] in "\n".join(second.lines)


def test_nothing_is_asked_where_nothing_runs(tmp_path: Path) -> None:
    asked = ask(tmp_path, EXAMPLE)

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


def test_a_later_start_finds_password_chats_and_sub_agents_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started(data) as first:
        asked = ask(data, "What about memory? Protect memory.")
        assert asked.returncode == 0, asked.stderr
        assert first.end(signal.SIGTERM) == 0
    with started(data) as second:
        again = ask(data, "List the sub-agents.", SESSION=session_of(asked.stdout))
        assert second.end(signal.SIGINT) == 0

    assert first.lines[-1] == second.lines[-1] == "Stopped."
    passwords = {
        line.split(" ")[3] for line in (*first.lines, *second.lines) if line.startswith("ready ")
    }
    assert len(passwords) == 1
    tools, answer = tools_and_answer(again.stdout)
    assert tools == [("list_subagents", {})]
    assert "memory (dynamic, protected)" in answer


def test_a_signal_during_the_start_ends_everything(tmp_path: Path) -> None:
    demo = Demo(tmp_path / "data")
    demo.until("Starting AstrBot")

    assert demo.end(signal.SIGINT) == 0
    assert demo.lines[-1] == "Stopped."


def test_the_death_of_astrbot_is_told(tmp_path: Path) -> None:
    with started(tmp_path / "data") as demo:
        demo.astrbot.kill()

        assert demo.end() == 1
        assert any("AstrBot ended by itself" in line for line in demo.lines)
    assert "no demo runs" in ask(tmp_path / "data", "hello").stderr


def test_astrbot_does_not_outlive_a_killed_start(tmp_path: Path) -> None:
    with started(tmp_path / "data") as demo:
        astrbot = demo.astrbot
        demo.process.kill()
        demo.process.communicate(timeout=END_SECONDS)
        astrbot.wait(END_SECONDS)


class Refuse(BaseHTTPRequestHandler):
    """A model that knows no key."""

    def do_POST(self) -> None:
        body = b'{"error": {"message": "unknown key", "type": "authentication_error"}}'
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_failure_of_a_real_model_is_told(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), Refuse)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    model = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_MODEL": "m"}
    try:
        with started(tmp_path / "data", **model):
            asked = ask(tmp_path / "data", "hello")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

    assert asked.returncode != 0
    assert "unknown key" in asked.stderr
    assert "\nanswer\n" not in asked.stdout
