# ruff: noqa: RUF001 - Chinese punctuation is meant
"""Chooses from a search's reply the words that answer a task.

It understands the reply of `search_project_docs`: blocks that begin with `source: path#heading`.
"""

import re
from collections import Counter
from dataclasses import dataclass

from .findings import Quote
from .words import keywords, stems

MAX_QUOTES = 3
MAX_CHARACTERS = 420

_SOURCE = re.compile(r"^\W*(?:\d+\W+)?source:\s*(?P<source>\S.*?)\s*$", re.MULTILINE)
_PASSAGE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+[.)])\s)|^\s*```.*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")
_NO_WORDS = re.compile(
    r"[\s|:-]*|\*\*Status:\*\* .*|[-*]\s+\[[^\]]*\]\(.*"
    r"|`[^`]*`[*]?(?:(?:,\s*|\s+or\s+|\s+and\s+)`[^`]*`[*]?)*[.:]?"
)
"""Rules of a table, the state of a decision, list items that only point to another page, and lists
of bare names."""
_WHOLE_HEADING = 1.0
"""A heading that holds all that was asked counts as one more word that stands nowhere else."""
_SHARE_OF_BEST = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    order: int
    """Place of its block: the search puts the best first."""
    quote: Quote
    said: frozenset[str]
    heading: frozenset[str]


def select(reply: str, task: str) -> tuple[Quote, ...]:
    """Return the passages that meet the key words of a task best, the best first.

    There are none when all passages together meet less than half of the key words: a chance hit
    on one word is no answer.
    """
    asked = [_forms(each) for each in keywords(task)]
    passages = _passages(reply)
    told = frozenset[str]().union(*(each.said | each.heading for each in passages))
    # The documentation is in English: other words stand beside their translation, if they have one.
    english = [each for each in asked if all(form.isascii() for form in each)]
    if 2 * sum(bool(each & told) for each in english) < len(english):
        return ()
    wanted = frozenset[str]().union(*asked)
    passages = [each for each in passages if wanted & (each.said | each.heading)]
    common = Counter(word for each in passages for word in wanted & (each.said | each.heading))

    def score(passage: _Passage) -> float:
        # A word that stands everywhere says little about this passage.
        inside = sum(1 / common[word] for word in wanted & passage.said)
        above = sum(1 / common[word] for word in wanted & passage.heading)
        whole = bool(english) and all(each & passage.heading for each in english)
        return inside + above + (_WHOLE_HEADING if whole else 0.0)

    enough = _SHARE_OF_BEST * max(map(score, passages), default=0.0)
    best: dict[str, Quote] = {}
    for passage in sorted(passages, key=lambda each: (-score(each), each.order)):
        if score(passage) >= enough:
            best.setdefault(passage.quote.text, passage.quote)
    return tuple(best.values())[:MAX_QUOTES]


def _forms(keyword: str) -> frozenset[str]:
    return frozenset({keyword}) if keyword.startswith("/") else stems(keyword)


def _passages(reply: str) -> list[_Passage]:
    return [
        _Passage(
            order=order,
            quote=Quote(text=text, source=source),
            said=stems(text),
            heading=stems(source.partition("#")[2]),
        )
        for order, (source, body) in enumerate(_blocks(reply))
        for text in _texts(body)
    ]


def _blocks(reply: str) -> list[tuple[str, str]]:
    marks = list(_SOURCE.finditer(reply))
    starts = [each.start() for each in marks] + [len(reply)]
    return [
        (mark["source"], reply[mark.end() : end])
        for mark, end in zip(marks, starts[1:], strict=True)
    ]


def _texts(body: str) -> list[str]:
    found: list[str] = []
    for part in _PASSAGE.split(body):
        whole = " ".join(part.split())
        pieces = [whole] if len(whole) <= MAX_CHARACTERS else _SENTENCE.split(whole)
        found += [_cut(piece) for piece in pieces if not _NO_WORDS.fullmatch(piece)]
    return found


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return text[:MAX_CHARACTERS].rsplit(" ", 1)[0] + " ..."
