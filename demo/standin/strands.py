# ruff: noqa: RUF001 - texts in Chinese and Russian are what this file is about
"""Splits a request into strands: parts that can be looked into independently.

A strand ends where a sentence, a question or a list item ends, or at a conjunction behind which
a clause of its own begins. Nothing else is understood: it is a set of rules over punctuation.
"""

import re

from .commands import understand
from .small_talk import is_small_talk
from .words import keywords

MAX_STRANDS = 8

_LIST_ITEM = re.compile(r"(?:^|\n|(?<=[\s:：]))\s*(?:\d{1,2}[.)、]|[-*•])\s+", re.MULTILINE)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])\s+|(?<=[。！？；])|[;；\n]+"
    # Without a space, too, but not inside an address such as example.org/?page=2.
    r"|(?<=[?!])(?=[一-鿿А-ЯЁа-яё]|[A-Z][a-z]*\s)"
)
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
_CONDITION_WORD = (
    # "When does it end" is a question of its own, "when it ends" is not.
    r"(?:if|whether|when(?!\s+(?:is|are|was|were|do|does|did|can|could|will|would|should|must)\b)"
    r"|while|once|after|before|если|когда|пока|после того|как только)\b"
)
_POINTS_AHEAD = r"(?<!\bто)(?<!\bтого)(?<!\bтому)(?<!\bтем)(?<!\bтом)"
"""Behind "то" and its forms, "что" only says what is meant."""
_COMMA_JOIN = re.compile(
    rf"{_POINTS_AHEAD},\s+(?!{_CONDITION_WORD})(?={_STARTER}\b)", re.IGNORECASE
)
_CONDITION = re.compile(rf"\s*{_CONDITION_WORD}", re.IGNORECASE)
_CHINESE = re.compile(r"[一-鿿]")
_CHINESE_CLAUSE = re.compile(r"[^，,]*[，,]?\s*")
_CHINESE_QUESTION = re.compile(
    r"怎么|怎样|如何|什么|啥|为何|哪|谁|多少|几|是否|是不是|能不能|可不可以|有没有|会不会|[吗呢]"
    r"|^请?(?:告诉|解释|说明|介绍|比较|列出|查看|查找|描述|展示|总结)"
)
_CHINESE_CONDITION_START = re.compile(r"如果|若|假如|假设|要是|万一|一旦|当")
_CHINESE_CONDITION_END = re.compile(r"(?:时|时候|后|前|的话)$")
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
    parts = [part for each in _cut(sentence, _STRONG_JOIN, needed=1) for part in _at_commas(each)]
    return [part for each in parts for part in _cut(each, _WEAK_JOIN, needed=_WEAK_SIDE_KEYWORDS)]


def _at_commas(text: str) -> list[str]:
    if _CHINESE.search(text):
        return _at_chinese_commas(text)
    # In "If X, what Y" the comma joins a condition to its question.
    return [text] if _CONDITION.match(text) else _cut(text, _COMMA_JOIN, needed=1)


def _at_chinese_commas(text: str) -> list[str]:
    """Cut between two questions or orders; a condition belongs to the question behind it."""
    parts, condition = [""], ""
    for match in _CHINESE_CLAUSE.finditer(text):
        clause = match.group().strip(_TRIM)
        if _is_chinese_condition(clause):
            condition += match.group()
            continue
        if _asks(clause) and (_asks(parts[-1]) or is_small_talk(parts[-1])):
            parts.append("")
        parts[-1] += condition + match.group()
        condition = ""
    parts[-1] += condition
    return parts


def _is_chinese_condition(clause: str) -> bool:
    ends_as_one = _CHINESE_CONDITION_END.search(clause) is not None and not _asks(clause)
    return _CHINESE_CONDITION_START.match(clause) is not None or ends_as_one


def _asks(clause: str) -> bool:
    is_order = understand(clause.strip(_TRIM)) is not None
    return is_order or _CHINESE_QUESTION.search(clause) is not None


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
