"""How the stand-in acts as a fork: it has read the conversation, and judges it from one side.

It counts and quotes what stands there; that is all the judgement a set of rules can give.
"""

import re
from collections.abc import Mapping
from typing import Any

from .findings import Finding, Quote, render
from .protocol import ChatReply, ChatRequest, message_text
from .roles import FORK_TASK, is_fork_task
from .small_talk import is_small_talk
from .texts import say
from .turn import own_words
from .words import language_of

SIDES = ("side_asked", "side_sources", "side_open")
"""Keys of their titles in `texts`."""
MAX_SHOWN = 3
MAX_CHARACTERS = 300

_LANGUAGES = ("en", "zh", "ru")
_CHAT = "this chat"
_QUOTE = re.compile(r"^> (?P<text>.+)\n+source: (?P<source>\S.*)$", re.MULTILINE)
_PART = re.compile(r"^\*\*(?P<strand>.+)\*\*\n(?P<first>.*)$", re.MULTILINE)


def act(request: ChatRequest) -> ChatReply:
    """Judge what was said before the turn in which the fork was started."""
    at = next(index for index, each in enumerate(request.messages) if is_fork_task(each))
    title = message_text(request.messages[at]).removeprefix(FORK_TASK).strip()
    side = next((each for each in SIDES if title in _titles(each).values()), SIDES[0])
    questions, answers = _said(request.messages[:at])
    quotes = _judged(side, language_of(title), questions, answers)
    return ChatReply(text=render(Finding(task=title, quotes=quotes)))


def _titles(side: str) -> Mapping[str, str]:
    return {language: say(side, language) for language in _LANGUAGES}


def _said(messages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the user's earlier requests, and the answers that they got."""
    asked = [own_words(each)[0] for each in messages if each.get("role") == "user"]
    # The newest one asks for this judgement; what has no words of its own is a note of the host.
    questions = [each for each in asked[:-1] if each and not is_small_talk(each)]
    answers = [message_text(each) for each in messages if each.get("role") == "assistant"]
    return questions, [each for each in answers if each]


def _judged(
    side: str, language: str, questions: list[str], answers: list[str]
) -> tuple[Quote, ...]:
    if not questions:
        return (_verdict(say("fork_nothing", language)),)
    if side == "side_asked":
        count = str(len(questions))
        return (_verdict(say("fork_asked", language, count=count)), *_shown(questions))
    text = "\n".join(answers)
    if side == "side_sources":
        quoted = [(each["text"], each["source"]) for each in _QUOTE.finditer(text)]
        files = sorted({source.partition("#")[0] for _, source in quoted})
        named = ", ".join(files) or "-"
        verdict = say("fork_sources", language, count=str(len(quoted)), files=named)
        found = [Quote(text=_cut(words), source=source) for words, source in quoted]
        return (_verdict(verdict), *found[:MAX_SHOWN])
    parts = [(each["strand"], each["first"]) for each in _PART.finditer(text)]
    # A part that was answered begins with a quote.
    unanswered = [strand for strand, first in parts if not first.startswith(">")]
    verdict = say("fork_open", language, count=str(len(unanswered)), parts=str(len(parts)))
    return (_verdict(verdict), *_shown(unanswered))


def _verdict(text: str) -> Quote:
    return Quote(text=text, source=_CHAT)


def _shown(texts: list[str]) -> list[Quote]:
    return [Quote(text=_cut(each), source=_CHAT) for each in texts[-MAX_SHOWN:]]


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_CHARACTERS else f"{flat[:MAX_CHARACTERS]} ..."
