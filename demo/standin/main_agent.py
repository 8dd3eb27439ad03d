"""How the stand-in acts as the main agent: a sub-agent for each strand, side by side, one answer.

Each model call sees the whole turn and gives the next step: make agents, hand out tasks, wait for
all of them, carry out short orders, answer. Where one call of `task` suits the request better, it
takes the place of the first three (`tasking`). What is to be done in the background is not waited
for. A step that failed is tried once more where another name may help, and else told to the user;
the number of model calls per turn is bounded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from . import answers, commands, tasking
from .findings import parse
from .names import CREATE, SEARCH, SINGLE_TRANSFER, TRANSFER, WAIT, call
from .protocol import ChatReply, ChatRequest, ToolCall
from .researcher import INSTRUCTIONS
from .small_talk import is_small_talk
from .strands import split
from .turn import Call, Turn
from .words import agent_name, keywords

MAX_AGENTS = 3
MAX_NAMES_TRIED = 2
MAX_WAITS = 3
MAX_ANSWERS = 12
WAIT_SECONDS = 60

_TASK_ID = re.compile(r"task_id\W{1,4}(?P<id>[A-Za-z0-9][\w-]*)", re.IGNORECASE)
_UNFINISHED = re.compile(r"\b(?:queued|running|waiting)\b", re.IGNORECASE)
_OVER = re.compile(
    r"^\W*state\W+(?:completed|failed|timed[ _]out|cancelled|interrupted)\b",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD_LINES = 3
_ABOUT_A_NAME = re.compile(r"\bnamed?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """The turn, with its request parted into strands to look up and orders to carry out."""

    turn: Turn
    offered: tuple[str, ...]
    strands: tuple[str, ...]
    """Those whose results have arrived by themselves are left out."""
    orders: Mapping[str, ToolCall]
    """By the order's words."""
    way: str
    """How it is to be done, as `tasking.way_of` found it."""

    @property
    def in_background(self) -> bool:
        """Whether nobody is to wait for it."""
        return self.way == tasking.BACKGROUND

    def tries(self, strand: str) -> list[Call]:
        """Return the attempts to make an agent for a strand."""
        made = self.turn.of(CREATE)
        return [each for each in made if each.arguments.get("description") == strand]

    def transfers(self) -> dict[str, Call]:
        """Return the hand-over of each strand that has one."""
        handed = [each for each in self.turn.calls if each.name.startswith(TRANSFER)]
        return {str(each.arguments.get("input")): each for each in handed}


def act(request: ChatRequest, turn: Turn) -> ChatReply:
    """Return the next step of the turn."""
    if parse(turn.words):
        # Not a person's words: results of earlier work are handed over.
        return ChatReply(text=answers.arrived(turn.words))
    if not turn.calls and (is_small_talk(turn.words) or not keywords(turn.words)):
        return ChatReply(text=answers.direct(turn.words))
    job = _job(request, turn)
    steps = () if turn.answers >= MAX_ANSWERS else _next_calls(job)
    return ChatReply(tool_calls=steps) if steps else conclude(request, turn)


def conclude(request: ChatRequest, turn: Turn) -> ChatReply:
    """Answer from what this turn has brought so far."""
    job = _job(request, turn)
    handed = job.transfers()
    if tasking.is_made(turn):
        known = _arrived(turn)
        reports = [each for each in tasking.reports(turn) if each.strand not in known]
    else:
        reports = [_report(job, strand, handed.get(strand)) for strand in job.strands]
    said = [_order_report(job, order, wanted) for order, wanted in job.orders.items()]
    return ChatReply(text=answers.merged(turn, [*reports, *said]))


def _job(request: ChatRequest, turn: Turn) -> _Job:
    way, words = tasking.way_of(turn.words)
    known = _arrived(turn)
    orders = {each: commands.understand(each) for each in split(words) if each not in known}
    return _Job(
        turn=turn,
        offered=request.tool_names(),
        strands=tuple(each for each, order in orders.items() if order is None),
        orders={each: order for each, order in orders.items() if order is not None},
        way=way,
    )


def _arrived(turn: Turn) -> frozenset[str]:
    """Return the tasks whose results came by themselves."""
    return frozenset(each.task for each in parse(turn.added))


def _next_calls(job: _Job) -> tuple[ToolCall, ...]:
    if tasking.is_made(job.turn):
        return (() if job.in_background else tasking.wait(job.turn, job.offered)) or _orders(job)
    if new := tasking.new_call(job.turn, job.strands, job.way, job.offered):
        return (new,)
    return _creates(job) or _hand_overs(job) or _wait(job) or _orders(job)


def _creates(job: _Job) -> tuple[ToolCall, ...]:
    if CREATE not in job.offered:
        return ()
    tried = {str(each.arguments.get("name")).lower() for each in job.turn.of(CREATE)}
    taken = tried | {each.lower() for each in job.offered}
    wanted: list[ToolCall] = []
    for number, strand in enumerate(job.strands[:MAX_AGENTS], start=1):
        tries = job.tries(strand)
        if tries and not _worth_another_name(tries):
            continue
        name = agent_name(strand, number=number + len(tries), taken=frozenset(taken))
        taken.add(name)
        wanted.append(
            call(
                CREATE,
                name=name,
                system_prompt=INSTRUCTIONS,
                description=strand,
                tools=[SEARCH],
            )
        )
    return tuple(wanted)


def _worth_another_name(tries: list[Call]) -> bool:
    last = tries[-1]
    return (
        last.failed
        and len(tries) < MAX_NAMES_TRIED
        and _ABOUT_A_NAME.search(last.result) is not None
    )


def _hand_overs(job: _Job) -> tuple[ToolCall, ...]:
    own, pool = _agents(job)
    handed = job.transfers()
    if not pool:
        return ()
    background = job.in_background or len(job.strands) > 1
    return tuple(
        _hand_over(own.get(strand, pool[number % len(pool)]), strand, job, background=background)
        for number, strand in enumerate(job.strands)
        if strand not in handed
    )


def _agents(job: _Job) -> tuple[dict[str, str], list[str]]:
    """Return the agent made for each strand, and all agents that can be given one."""
    own = {
        strand: str(done[0].arguments.get("name"))
        for strand in job.strands
        if (done := [each for each in job.tries(strand) if not each.failed])
    }
    earlier = [each.removeprefix(TRANSFER) for each in job.offered if each.startswith(TRANSFER)]
    usable = [each for each in earlier if each != SINGLE_TRANSFER.removeprefix(TRANSFER)]
    return own, list(own.values()) or usable


def _hand_over(agent: str, strand: str, job: _Job, *, background: bool) -> ToolCall:
    if SINGLE_TRANSFER in job.offered:
        return call(SINGLE_TRANSFER, name=agent, input=strand, background_task=background)
    return call(f"{TRANSFER}{agent}", input=strand, background_task=background)


def _wait(job: _Job) -> tuple[ToolCall, ...]:
    waits = job.turn.of(WAIT)
    pending = [] if job.in_background else _pending(job)
    if not pending or len(waits) >= MAX_WAITS or (waits and waits[-1].failed):
        return ()
    if WAIT not in job.offered:
        return ()
    return (call(WAIT, task_id=pending, mode="all", timeout=WAIT_SECONDS),)


def _pending(job: _Job) -> list[str]:
    """Return the ids of tasks whose result is not here yet."""
    ids = [task for each in job.transfers().values() if (task := _task_of(each))]
    for wait in job.turn.of(WAIT):
        if not wait.failed:
            ids = [task for task in ids if _still_runs(task, wait.result, ids)]
    return ids


def _task_of(transfer: Call) -> str:
    """Return the id under which a hand-over goes on, "" when it is over."""
    if transfer.failed or parse(transfer.result) or _OVER.search(transfer.result):
        return ""
    match = _TASK_ID.search(transfer.result)
    return match["id"] if match else ""


def _still_runs(task: str, reply: str, ids: list[str]) -> bool:
    # The state stands at the head; further down stand the words of the sub-agent.
    head = "\n".join(_part_of(task, reply, ids).splitlines()[:_HEAD_LINES])
    return _UNFINISHED.search(head) is not None


def _part_of(task: str, reply: str, ids: list[str]) -> str:
    """Return what a reply says of one task: from its id to the next task's."""
    start = reply.find(task)
    if start < 0:
        return ""
    others = [reply.find(each, start + len(task)) for each in ids if each != task]
    ends = [each for each in others if each > start]
    return reply[start : min(ends, default=len(reply))]


def _orders(job: _Job) -> tuple[ToolCall, ...]:
    return tuple(
        wanted
        for wanted in job.orders.values()
        if wanted.name in job.offered and _carried_out(job, wanted) is None
    )


def _carried_out(job: _Job, wanted: ToolCall) -> Call | None:
    done = [each for each in job.turn.of(wanted.name) if each.arguments == wanted.arguments]
    return done[-1] if done else None


def _report(job: _Job, strand: str, handed: Call | None) -> answers.Report:
    ids = [task for each in job.transfers().values() if (task := _task_of(each))]
    task = _task_of(handed) if handed else ""
    if handed is None:
        tries = job.tries(strand)
        return answers.Report(strand=strand, failure=tries[-1].result if tries else "")
    if handed.failed:
        return answers.Report(strand=strand, failure=handed.result)
    if not task:
        return answers.Report(strand=strand, reply=handed.result)
    if task in _pending(job):
        return answers.Report(strand=strand, pending=task)
    waits = [_part_of(task, each.result, ids) for each in job.turn.of(WAIT)]
    return answers.Report(strand=strand, reply=next((each for each in waits[::-1] if each), ""))


def _order_report(job: _Job, order: str, wanted: ToolCall) -> answers.Report:
    done = _carried_out(job, wanted)
    return answers.Report(strand=order, reply=done.result if done else "")
