"""What `make run` and `make ask` call, as processes: a real AstrBot with the plugin in it.

Three starts on one data folder, one behind the other, serve all tests: each fixture ends the start
of the one before it, so the tests stand in the order in which they run.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from support.demo_process import (
    END_SECONDS,
    ROOT,
    Demo,
    ask,
    environment,
    session_of,
    started,
    tools_and_answer,
)

pytestmark = pytest.mark.e2e

EXAMPLE = "How do I protect a sub-agent, and what happens when a run times out?"
QUOTE = re.compile(r"^> (?P<text>.+)\n\nsource: (?P<path>[^#\n]+)#(?P<heading>.+)$", re.MULTILINE)


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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "data of it"


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[Demo]:
    with started(data) as demo:
        yield demo


@pytest.fixture(scope="module")
def kept_chat(running: Demo) -> str:
    """A chat in which something was protected, its AstrBot ended by SIGTERM since."""
    asked = ask(running.data, "What about memory? Protect memory.")
    assert asked.returncode == 0, asked.stderr
    assert running.end(signal.SIGTERM) == 0
    assert running.lines[-1] == "Stopped."
    return session_of(asked.stdout)


@pytest.fixture(scope="module")
def again(data: Path, kept_chat: str) -> Iterator[Demo]:
    assert kept_chat
    with started(data) as demo:
        yield demo


@pytest.fixture(scope="module")
def with_a_bad_model(data: Path, again: Demo) -> Iterator[Demo]:
    assert again.process.poll() is not None
    server = HTTPServer(("127.0.0.1", 0), Refuse)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        with started(data, OPENAI_BASE_URL=url, OPENAI_MODEL="m") as demo:
            yield demo
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_newcomers_question_is_answered_by_two_sub_agents_side_by_side(running: Demo) -> None:
    asked = ask(running.data, EXAMPLE)

    assert asked.returncode == 0, asked.stderr
    tools, answer = tools_and_answer(asked.stdout)
    assert [name for name, _ in tools] == [
        "create_subagent",
        "create_subagent",
        "transfer_to_protect",
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
    time_out = answer[answer.index("**what happens when") :]
    first = QUOTE.search(time_out)
    assert first is not None
    assert "stopped and ends as `timed_out`" in first["text"]


@pytest.mark.parametrize(
    ("question", "transfers", "about"),
    [
        ("Which states does a task have?", ["transfer_to_states_task"], "offline stand-in"),
        (
            "怎么保护一个子代理?运行超时会怎样?",
            ["transfer_to_protect", "transfer_to_timeout_run"],
            "我是离线替身",
        ),
        (
            "Как защитить субагента, и что будет, когда задача не успеет вовремя?",
            ["transfer_to_protect", "transfer_to_task_timeout"],
            "Я офлайн-заглушка",
        ),
    ],
)
def test_other_questions_are_answered_from_their_own_words(
    running: Demo, question: str, transfers: list[str], about: str
) -> None:
    tools, answer = tools_and_answer(ask(running.data, question).stdout)

    assert [name for name, _ in tools if name.startswith("transfer")] == transfers
    assert len(QUOTE.findall(answer)) >= len(transfers)
    assert about in answer


def test_three_questions_are_one_call_and_forks_judge_the_chat(running: Demo) -> None:
    asked = ask(running.data, f"{EXAMPLE} Where is memory kept? Sum it up.")
    chat = session_of(asked.stdout)
    judged = ask(running.data, "Judge our conversation from three sides.", SESSION=chat)

    ((name, _),), answer = tools_and_answer(asked.stdout)
    ((judge, _),), judgement = tools_and_answer(judged.stdout)
    assert (name, judge) == ("task", "task")
    summary = answer[answer.index("**Sum it up.**") :]
    assert len(QUOTE.findall(summary)) == 3
    assert "Requests before this one: 1." in judgement
    assert "Parts without an answer: 0 of 4." in judgement


def test_nonsense_and_small_talk_get_no_quotes(running: Demo) -> None:
    nonsense = ask(running.data, "asdf qwer /root zxcv").stdout
    thanks = ask(running.data, "Thanks!").stdout

    _, answer = tools_and_answer(nonsense)
    assert "no section of the documentation is about: asdf, qwer, /root, zxcv" in answer
    assert QUOTE.search(answer) is None
    assert "tool " not in thanks
    assert "answer\nYou are welcome" in thanks


def test_the_last_lines_of_the_start_tell_address_login_and_how_to_ask(running: Demo) -> None:
    hint = next(line for line in running.lines if "make ask" in line)
    word, url, user, password = running.lines[-1].split(" ")

    assert shlex.split(hint.partition(": ")[2])[2] == f"DATA={running.data}"
    assert (word, url, user) == ("ready", f"http://127.0.0.1:{running.port}", "astrbot")
    by_address = ask(Path("unused"), "hello", URL=url, USER=user, PASSWORD=password)
    assert by_address.returncode == 0, by_address.stderr
    refused = ask(Path("unused"), "hello", URL=url, USER=user, PASSWORD="wrong")
    assert refused.returncode != 0
    assert "refused the login" in refused.stderr


def test_a_chat_that_does_not_exist_is_not_opened_silently(running: Demo) -> None:
    unknown = ask(running.data, "hello", SESSION="nosuch")
    chat = session_of(ask(running.data, "hello").stdout)
    known = ask(running.data, "hello", SESSION=chat)

    assert unknown.returncode == 1
    assert "there is no chat 'nosuch'" in unknown.stderr
    assert unknown.stdout == ""
    assert session_of(known.stdout) == chat


def test_a_reader_that_goes_away_is_no_error(running: Demo) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        asked = subprocess.run(
            [sys.executable, "demo/ask.py", "hello"],
            cwd=ROOT,
            env=environment(running.data),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)

    assert (asked.returncode, asked.stderr) == (0, "")


def test_a_second_start_on_the_same_folder_is_refused_while_the_first_runs(running: Demo) -> None:
    second = Demo(running.data)

    assert second.end() == 2
    assert running.lines[-1].split(" ")[1] in "\n".join(second.lines)


def test_a_later_start_finds_password_chats_and_sub_agents_again(
    kept_chat: str, running: Demo, again: Demo
) -> None:
    asked = ask(again.data, "List the sub-agents.", SESSION=kept_chat)

    logins = {
        line.split(" ")[3] for line in (*running.lines, *again.lines) if line.startswith("ready ")
    }
    assert len(logins) == 1
    tools, answer = tools_and_answer(asked.stdout)
    assert tools == [("list_subagents", {})]
    assert "memory (dynamic, protected)" in answer


def test_the_death_of_astrbot_is_told(again: Demo) -> None:
    again.astrbot.kill()

    assert again.end() == 1
    assert any("AstrBot ended by itself" in line for line in again.lines)
    assert "no demo runs" in ask(again.data, "hello").stderr


def test_a_failure_of_a_real_model_is_told_to_who_asked_only(with_a_bad_model: Demo) -> None:
    asked = ask(with_a_bad_model.data, "hello")

    assert asked.returncode != 0
    assert "unknown key" in asked.stderr
    assert "\nanswer\n" not in asked.stdout
    assert "[ERRO]" in (with_a_bad_model.data / "astrbot.log").read_text("utf-8")


def test_astrbot_does_not_outlive_a_killed_start(with_a_bad_model: Demo) -> None:
    demo = with_a_bad_model
    astrbot = demo.astrbot
    demo.process.kill()
    output, _ = demo.process.communicate(timeout=END_SECONDS)
    astrbot.wait(END_SECONDS)

    # The error of the model stands in the log, not on the screen of a demo that is ready.
    assert "astrbot:" not in output
