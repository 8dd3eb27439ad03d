# ruff: noqa: RUF001 - texts in Chinese and Russian are what this file is about
"""Splits a request into strands: parts that can be looked into independently.

A strand ends where a sentence, a question or a list item ends, or at a conjunction behind which
a clause of its own begins. Nothing else is understood: it is a set of rules over punctuation.
"""

import re

from .words import is_small_talk, keywords

MAX_STRANDS = 8

_LIST_ITEM = re.compile(r"(?:^|\n|(?<=[\s:：]))\s*(?:\d{1,2}[.)、]|[-*•])\s+", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|[;；\n]+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|т\.е|т\.д)\.$", re.IGNORECASE)
_STARTER = (
    r"(?:how|what|when|where|why|who|which|whether|is|are|can|could|does|do|did|should|will|would"
    r"|tell|explain|show|find|list|describe|compare|summari[sz]e|give|look|check|also|if"
    r"|как|что|когда|где|почему|зачем|кто|какой|какая|какие|можно|расскажи|покажи|найди|объясни)"
)
_STRONG_JOIN = re.compile(
    r",?\s+(?:and then|and also|and|then|but|а также|и затем|затем|потом|и|а)\s+"
    rf"(?={_STARTER}\b)"
    r"|,\s*(?:and then|and|then|а также|затем|потом|и|а)\s+"
    r"|[，,]?\s*(?:以及|然后|另外|并且|还有|而且|同时|接着)[，,]?\s*",
    re.IGNORECASE,
)
_COMMA_JOIN = re.compile(rf",\s+(?={_STARTER}\b)", re.IGNORECASE)
_CONDITION = re.compile(r"\s*(?:if|when|while|once|after|before|если|когда)\b", re.IGNORECASE)
_WEAK_JOIN = re.compile(r"\s+(?:and|then|и|затем)\s+|(?<=[一-鿿])和(?=[一-鿿])", re.IGNORECASE)
_WEAK_SIDE_KEYWORDS = 3
_LEADING_JOIN = re.compile(r"(?:and|then|also|but|и|а|затем|потом)\s+", re.IGNORECASE)
_TRIM = " \t\r\n,;:，；：、-–—"


def split(text: str) -> tuple[str, ...]:
    """Return the strands of a request in order, each once; at least one for a text with words.

    More than `MAX_STRANDS` are not made: what comes later is joined to the last one.
    """
    pieces = [part for item in _LIST_ITEM.split(text) for part in _sentences(item)]
    clauses = [clause for piece in pieces for clause in _clauses(piece)]
    strands: dict[str, None] = {}
    for clause in clauses:
        clean = _tidy(clause)
        if keywords(clean) and not is_small_talk(clean):
            strands.setdefault(clean)
    if not strands:
        whole = text.strip(_TRIM)
        return (whole,) if whole else ()
    found = list(strands)
    head, rest = found[: MAX_STRANDS - 1], found[MAX_STRANDS - 1 :]
    return (*head, *([" ".join(rest)] if rest else []))


def _sentences(text: str) -> list[str]:
    done: list[str] = []
    for part in _SENTENCE_END.split(text):
        if done and _ABBREVIATION.search(done[-1]):
            done[-1] = f"{done[-1]} {part}"
        else:
            done.append(part)
    return done


def _tidy(clause: str) -> str:
    clean = clause.strip(_TRIM)
    join = _LEADING_JOIN.match(clean)
    return clean[join.end() :] if join else clean


def _clauses(sentence: str) -> list[str]:
    parts = _cut(sentence, _STRONG_JOIN, needed=1)
    # In "If X, what Y" the comma joins a condition to its question.
    if not _CONDITION.match(sentence):
        parts = [part for each in parts for part in _cut(each, _COMMA_JOIN, needed=1)]
    return [part for each in parts for part in _cut(each, _WEAK_JOIN, needed=_WEAK_SIDE_KEYWORDS)]


def _cut(text: str, joint: re.Pattern[str], *, needed: int) -> list[str]:
    """Cut at each joint that has at least so many key words on either side of it."""
    parts: list[str] = []
    start = 0
    for match in joint.finditer(text):
        left, right = text[start : match.start()], text[match.end() :]
        if min(len(keywords(left)), len(keywords(right))) >= needed:
            parts.append(left)
            start = match.end()
    return [*parts, text[start:]]
