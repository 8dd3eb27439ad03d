"""How the stand-in acts as a fresh copy of the main agent: it looks its task up, phase by phase.

A copy is told its task once. Where it is to plan or to reflect, each phase ends with an answer and
the next begins with an instruction; its words tell which phase it is.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from . import findings, quoting, researcher
from .findings import Finding, Quote
from .names import SEARCH, call
from .protocol import ChatReply, ChatRequest, message_text
from .texts import say
from .turn import Turn
from .words import keywords, language_of, stems

type Phase = Literal["", "plan", "carry_out", "draft", "criticise", "improve", "answer"]

MAX_QUOTES = 4

_BEGINNINGS: Mapping[str, Phase] = MappingProxyType(
    {
        "First write a plan": "plan",
        "Now carry out your plan": "carry_out",
        "First work out a complete draft": "draft",
        "Now criticise your draft": "criticise",
        "Now mend every fault": "improve",
        "Answer at once": "answer",
    }
)
_PHASE = re.compile(rf"(?:^|\n\n)(?P<begins>{'|'.join(_BEGINNINGS)})\b[^\n]*\s*$")
_EARLIER = re.compile(
    r"Results of earlier tasks\b.*\n\w+ [0-9a-f]{12}>>(?:\nIt made the file [^\n]*)*\n\n", re.DOTALL
)


def act(request: ChatRequest, turn: Turn) -> ChatReply:
    """Return the next step of a copy."""
    earlier, task = _task(turn.words)
    if found := findings.parse(earlier):
        return ChatReply(text=_summed_up(task, found))
    phase = phase_of(request)
    if phase == "plan":
        words = ", ".join(keywords(task))
        return ChatReply(text=say("plan", language_of(task), tool=SEARCH, words=words))
    if phase == "criticise":
        return ChatReply(text=_criticism(task, _draft(request)))
    if phase == "improve":
        return _improve(request, turn, task)
    return researcher.act(request, replace(turn, words=task))


def phase_of(request: ChatRequest) -> Phase:
    """Return the phase that the newest instruction begins; "" when there is none."""
    for message in reversed(request.messages):
        match = _PHASE.search(message_text(message)) if message.get("role") == "user" else None
        if match:
            return _BEGINNINGS[match["begins"]]
    return ""


def _task(words: str) -> tuple[str, str]:
    """Part the results of earlier tasks from the task itself, without its phase."""
    earlier = _EARLIER.match(words)
    task = words[earlier.end() :] if earlier else words
    return (earlier.group() if earlier else ""), _PHASE.sub("", task).strip()


def _summed_up(task: str, found: tuple[Finding, ...]) -> str:
    """The best of what each earlier task brought."""
    best = tuple(each.quotes[0] for each in found if each.quotes)
    reason = "" if best else say("nothing", language_of(task))
    return findings.render(Finding(task=task, quotes=best, reason=reason))


def _draft(request: ChatRequest) -> tuple[Quote, ...]:
    """The quotes of the newest answer that has some."""
    for message in reversed(request.messages):
        if message.get("role") == "assistant" and (found := findings.parse(message_text(message))):
            return found[0].quotes
    return ()


def _missing(task: str, draft: tuple[Quote, ...]) -> list[str]:
    """Key words of a task that its draft does not meet; documents are in English."""
    met = stems(" ".join(f"{each.text} {each.source}" for each in draft))
    return [each for each in keywords(task) if each.isascii() and not stems(each) & met]


def _criticism(task: str, draft: tuple[Quote, ...]) -> str:
    language, missing = language_of(task), _missing(task, draft)
    if missing:
        return say("fault", language, count=str(len(draft)), words=", ".join(missing))
    return say("no_fault", language, count=str(len(draft)))


def _improve(request: ChatRequest, turn: Turn, task: str) -> ChatReply:
    """Look up what the draft lacks, once, and put the two together."""
    draft = _draft(request)
    missing, searches = " ".join(_missing(task, draft)), turn.of(SEARCH)
    # An empty draft has looked for all words already.
    if draft and missing and len(searches) <= 1 and SEARCH in request.tool_names():
        again = call(SEARCH, query=missing, limit=researcher.SECTIONS)
        return ChatReply(tool_calls=(again,))
    more = quoting.select(searches[-1].result, missing) if missing and len(searches) > 1 else ()
    quotes = tuple({each.text: each for each in (*draft, *more)}.values())[:MAX_QUOTES]
    language = language_of(task)
    reason = "" if quotes else say("no_hit", language, words=missing or task)
    return ChatReply(text=findings.render(Finding(task=task, quotes=quotes, reason=reason)))
