"""One message to a running AstrBot, and what comes back, printed as it comes."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from .api import ApiError, AstrBotApi, LoginRefused, TooManyLogins
from .instance import USER, Instance, read_instance
from .problem import Problem
from .settings import data_folder

DEFAULT_TIMEOUT_SECONDS = 300.0
MAX_TIMEOUT_SECONDS = 86_400.0
LOGIN_TRIES = 5
LOGIN_PAUSE_SECONDS = 1.2

_NO_ANSWER = frozenset({"tool_call_result", "reasoning", "agent_stats"})
_FILES = frozenset({"image", "record", "file", "video"})

# AstrBot sends a failure of the model as a plain message; these are its beginnings.
_FAILURES = (
    "LLM 响应错误",
    "LLM 请求失败",
    "LLM request failed",
    "Error occurred during AI execution",
    "Ошибка запроса к LLM",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask whom."""

    text: str
    instances: tuple[Instance, ...]
    """Logins to try, in order."""
    session: str
    """"" opens a new chat."""
    timeout_seconds: float


def read_question(
    arguments: Sequence[str], environment: Mapping[str, str], clone: Path
) -> Question:
    """Put the question together from the command line and the environment.

    Raises:
        Problem: There is nothing to ask, or nobody to ask.
    """
    text = " ".join(arguments).strip()
    if not text:
        raise Problem('there is no question. Use: make ask Q="How do I protect a sub-agent?"')
    return Question(
        text=text,
        instances=_instances(environment, clone),
        session=environment.get("SESSION", "").strip(),
        timeout_seconds=_timeout(environment.get("TIMEOUT", "")),
    )


def ask(question: Question) -> None:
    """Send the message and print the tool calls and the answer.

    Raises:
        Problem: No answer came.
        ReaderGone: The output is no longer read.
    """
    try:
        api = _logged_in(question.instances)
        session = question.session or api.new_session()
        if question.session and not api.knows_session(session):
            raise Problem(
                f"there is no chat {session!r}. Give the id that an earlier `make ask` printed "
                "behind `session`, or leave SESSION out for a new chat."
            )
        _print(f"session {session}\n")
        printer = _Printer()
        for event in api.chat(session, question.text, timeout_seconds=question.timeout_seconds):
            printer.take(event)
        printer.finish()
    except TimeoutError as error:
        raise Problem(
            f"no answer within {question.timeout_seconds:g} s (TIMEOUT=... allows more)"
        ) from error
    except (ApiError, OSError, HTTPException, ValueError) as error:
        raise Problem(str(error) or type(error).__name__) from error


class ReaderGone(Exception):
    """Whoever read the output wants no more of it, as `head` does."""


class _Printer:
    """Prints the events of one answer, and knows in the end whether there was one."""

    def __init__(self) -> None:
        self._answering = False
        self._failure = ""

    def take(self, event: dict[str, Any]) -> None:
        """Print what an event brings."""
        kind, data = event.get("type"), event.get("data")
        if kind == "error":
            self._failure = str(data)
        elif kind == "follow_up_captured":
            self._failure = "this chat is busy; the message was added to the turn that runs in it"
        elif kind == "plain" and event.get("chain_type") == "tool_call":
            self._tool(str(data))
        elif kind == "plain" and event.get("chain_type") in _NO_ANSWER:
            return
        elif kind == "plain" or (kind == "complete" and not self._answering):
            self._text(str(data or ""))
        elif kind in _FILES:
            self._text(f"\n{data}\n")

    def finish(self) -> None:
        """End the output.

        Raises:
            Problem: There was no answer.
        """
        if self._answering:
            _print("\n")
        if self._failure:
            raise Problem(self._failure)
        if not self._answering:
            raise Problem("the turn ended without an answer; see the log in the data folder")

    def _tool(self, data: str) -> None:
        made = json.loads(data)
        if self._answering:
            _print("\n")
        self._answering = False
        arguments = json.dumps(made.get("args") or {}, ensure_ascii=False)
        _print(f"tool {made.get('name')} {arguments}\n")

    def _text(self, text: str) -> None:
        if not text:
            return
        if not self._answering and text.startswith(_FAILURES):
            self._failure = text.strip()
            return
        if not self._answering:
            _print("answer\n")
            self._answering = True
        _print(text)


def _logged_in(instances: Sequence[Instance]) -> AstrBotApi:
    refused: LoginRefused | None = None
    for instance in instances:
        api = AstrBotApi(instance.url)
        try:
            _log_in(api, instance)
        except LoginRefused as error:
            refused = refused or error
        else:
            return api
    raise refused or ApiError("there is no login to try")


def _log_in(api: AstrBotApi, instance: Instance) -> None:
    api.token = instance.token
    tries = 0 if api.token and api.knows_me() else LOGIN_TRIES
    while tries:
        tries -= 1
        try:
            api.login(instance.user, instance.password)
            tries = 0
        except TooManyLogins:
            if not tries:
                raise
            time.sleep(LOGIN_PAUSE_SECONDS)


def _instances(environment: Mapping[str, str], clone: Path) -> tuple[Instance, ...]:
    url = environment.get("URL", "").strip()
    if not url:
        data = data_folder(environment, clone)
        running = read_instance(data)
        if running is None:
            raise Problem(
                f"no demo runs with the data folder {data}. Start one with `make run`, or give "
                "the DATA=... it runs with, or URL=... USER=... PASSWORD=..."
            )
        return (running,)
    password = environment.get("PASSWORD", "")
    if not password:
        raise Problem("PASSWORD is missing: URL is set, so USER and PASSWORD are needed too")
    # Shells set USER to the name of the person at the machine, so the demo's own user name is
    # tried as well.
    users = dict.fromkeys([environment.get("USER", "").strip() or USER, USER])
    return tuple(Instance(url=url, user=user, password=password) for user in users)


def _timeout(given: str) -> float:
    if not given.strip():
        return DEFAULT_TIMEOUT_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < MAX_TIMEOUT_SECONDS:
        raise Problem(f"TIMEOUT must be a number of seconds above 0, not {given!r}")
    return seconds


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error
