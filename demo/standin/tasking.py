# ruff: noqa: RUF001 - requests are understood in three languages
"""When the stand-in uses the tool `task`, what it asks of it, and what came of that.

One call does what several sub-agents would: many strands as fresh copies side by side, a summary
that depends on all of them, forks that judge the conversation, copies that plan or reflect.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from . import answers
from .forks import SIDES
from .names import TASK, WAIT, call
from .protocol import ToolCall
from .roles import FORK_TASK
from .texts import say
from .turn import Call, Turn
from .words import agent_name, language_of

MIN_STRANDS = 3
"""Fewer are shown with named sub-agents, which is what newcomers come for."""
BACKGROUND = "background"
"""The way in which nobody waits for the results; all others are ways in which copies work."""
MAX_WAITS = 3
WAIT_SECONDS = 60

_SUMMARY = re.compile(
    r"(?:please\s+)?(?:sum|put)\s+(?:it|them|that|this|everything|all)\b.*\b(?:up|together)\b.*"
    r"|(?:please\s+)?summari[sz]e\s+(?:it|them|that|this|everything|all)\b.*"
    r"|(?:请)?(?:把.*)?总结(?:一下|起来)?.*|(?:и\s+)?подведи\s+итог.*",
    re.IGNORECASE | re.DOTALL,
)
_JUDGING = re.compile(
    r"(?:please\s+)?(?:judge|assess|review|rate|evaluate)\b.*\b(?:conversation|chat|dialogue)\b"
    r"|请?(?:评价|评判|评估).*(?:对话|聊天|谈话)|оцени(?:те)?\b.*\b(?:разговор|бесед|чат|диалог)",
    re.IGNORECASE | re.DOTALL,
)
_WAYS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "plan": re.compile(
            r"\s*(?:please\s+)?(?:make a plan first|plan first|先(?:做)?计划|сначала составь план)"
            r"\s*[:,，：]\s*",
            re.IGNORECASE,
        ),
        "reflection": re.compile(
            r"\s*(?:please\s+)?(?:criticise yourself|check yourself|自我检查|проверь себя)"
            r"\s*[:,，：]\s*",
            re.IGNORECASE,
        ),
        BACKGROUND: re.compile(
            r"\s*(?:please\s+)?(?:(?:do (?:it|this|that) )?in the background"
            r"|请?在?后台(?:进行|处理)?|в фоне|в фоновом режиме)\s*[:,，：]\s*",
            re.IGNORECASE,
        ),
    }
)
_GROUP = re.compile(r"^group_id: (?P<id>\S+)$", re.MULTILINE)
_STATE = re.compile(r"^state: (?P<state>.+)$", re.MULTILINE)
_REASON = re.compile(r"^reason: (?P<reason>.+)$", re.MULTILINE)


def way_of(words: str) -> tuple[str, str]:
    """Return how it is to be done, "" when nothing is said of it, and the request without it."""
    for way, pattern in _WAYS.items():
        if match := pattern.match(words):
            return way, words[match.end() :]
    return "", words


def new_call(
    turn: Turn, strands: tuple[str, ...], way: str, offered: tuple[str, ...]
) -> ToolCall | None:
    """Return the call of `task` that suits a request; None where sub-agents suit it better."""
    judges = any(_JUDGING.match(each) for each in strands)
    sums_up = any(_SUMMARY.fullmatch(each) for each in strands[1:])
    suits = (way and way != BACKGROUND) or judges or sums_up or len(strands) >= MIN_STRANDS
    # Refused once, it would be refused again: sub-agents do it then.
    if TASK not in offered or turn.of(TASK) or not suits:
        return None
    if way == BACKGROUND:
        return call(TASK, tasks=_tasks(strands, ""), background_task=True)
    return call(TASK, tasks=_tasks(strands, way))


def _tasks(strands: tuple[str, ...], way: str) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = []
    for strand in strands:
        ids = [str(each["id"]) for each in tasks]
        taken = frozenset({*ids, *SIDES})
        name = agent_name(strand, number=len(tasks) + 1, taken=taken)
        if _JUDGING.match(strand):
            tasks += _forks(language_of(strand), set(ids))
        elif ids and _SUMMARY.fullmatch(strand):
            tasks.append({"id": name, "task": strand, "depends_on": ids})
        else:
            kind = {"agent_type": way} if way else {}
            tasks.append({"id": name, "task": strand, **kind})
    return tasks


def _forks(language: str, taken: set[str]) -> list[dict[str, Any]]:
    return [
        {"id": side, "task": f"{FORK_TASK}{say(side, language)}", "context": "fork"}
        for side in SIDES
        if side not in taken
    ]


def is_made(turn: Turn) -> bool:
    """Tell whether tasks were started in this turn."""
    return _made(turn) is not None


def wait(turn: Turn, offered: tuple[str, ...]) -> tuple[ToolCall, ...]:
    """Return the call that waits for what is not there yet."""
    made, waits = _made(turn), turn.of(WAIT)
    group = _GROUP.search(made.result) if made else None
    done = len(waits) >= MAX_WAITS or (waits and waits[-1].failed)
    if group is None or done or WAIT not in offered:
        return ()
    if not any(each.pending for each in reports(turn)):
        return ()
    return (call(WAIT, task_id=[group["id"]], mode="all", timeout=WAIT_SECONDS),)


def reports(turn: Turn) -> list[answers.Report]:
    """Return how each task went, in their order; nothing when none was started."""
    made = _made(turn)
    if made is None:
        return []
    tasks = [each for each in made.arguments.get("tasks", []) if isinstance(each, dict)]
    ids = [str(each.get("id")) for each in tasks]
    replies = [made.result, *(each.result for each in turn.of(WAIT))]
    group = _GROUP.search(made.result)
    return [
        _report(
            str(task.get("task")).removeprefix(FORK_TASK),
            next((block for reply in replies if (block := _block(each, ids, reply))), ""),
            pending=group["id"] if group else each,
        )
        for task, each in zip(tasks, ids, strict=True)
    ]


def _made(turn: Turn) -> Call | None:
    return next((each for each in turn.of(TASK) if not each.failed), None)


def _block(wanted: str, ids: list[str], reply: str) -> str:
    """Return what a reply says of one finished task: from its head to the next one's."""
    start = re.search(rf"^task: {re.escape(wanted)}$", reply, re.MULTILINE)
    if start is None:
        return ""
    others = "|".join(re.escape(each) for each in ids if each != wanted)
    end = re.compile(rf"^task: (?:{others})$", re.MULTILINE).search(reply, start.end())
    return reply[start.start() : end.start() if others and end else len(reply)]


def _report(strand: str, block: str, *, pending: str) -> answers.Report:
    state = _STATE.search(block)
    if state is None:
        return answers.Report(strand=strand, pending=pending)
    if state["state"] != "completed":
        reason = _REASON.search(block)
        return answers.Report(strand=strand, failure=reason["reason"] if reason else state[0])
    return answers.Report(strand=strand, reply=block)
