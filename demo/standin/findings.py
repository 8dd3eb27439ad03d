"""What was found for one task: quotes with their sources, as text and back.

A sub-agent writes this text as its answer; the main agent finds it again in a tool's reply,
whatever stands around it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .words import language_of

_FOUND: Mapping[str, str] = MappingProxyType(
    {"en": "Findings for", "zh": "查到的内容", "ru": "Найдено по заданию"}
)
_NOT_FOUND: Mapping[str, str] = MappingProxyType(
    {"en": "Nothing found for", "zh": "没有查到", "ru": "Ничего не найдено по заданию"}
)
_REASON_WORD: Mapping[str, str] = MappingProxyType({"en": "reason", "zh": "原因", "ru": "причина"})

_HEAD = re.compile(
    rf"^\W*(?:{'|'.join([*_FOUND.values(), *_NOT_FOUND.values()])}): (?P<task>.*?)\s*$"
)
_QUOTED = re.compile(r"^[\s>|]*> (?P<text>\S.*?)\s*$")
_SOURCE = re.compile(r"^\W*source: (?P<source>\S.*?)\s*$")
_REASON = re.compile(rf"^\W*(?:{'|'.join(_REASON_WORD.values())}): (?P<reason>\S.*?)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words of a document and where they stand."""

    text: str
    """One line."""
    source: str
    """`path#heading`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of one task."""

    task: str
    """One line."""
    quotes: tuple[Quote, ...] = ()
    reason: str = ""
    """Why there is no quote, in one line."""


def render(finding: Finding) -> str:
    """Write a finding down in the language of its task."""
    language = language_of(finding.task)
    if not finding.quotes:
        reason = [f"{_REASON_WORD[language]}: {finding.reason}"] if finding.reason else []
        return "\n".join([f"{_NOT_FOUND[language]}: {finding.task}", *reason])
    lines = [f"{_FOUND[language]}: {finding.task}"]
    for quote in finding.quotes:
        lines += [f"> {quote.text}", f"source: {quote.source}"]
    return "\n".join(lines)


def parse(text: str) -> tuple[Finding, ...]:
    """Read all findings that stand in a text; a quote that lost its source is left out."""
    found: list[Finding] = []
    quoted = ""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            found.append(Finding(task=head["task"]))
        elif not found:
            continue
        elif quote := _QUOTED.match(line):
            quoted = quote["text"]
        elif reason := _REASON.match(line):
            found[-1] = Finding(task=found[-1].task, reason=reason["reason"])
        elif quoted and (source := _SOURCE.match(line)):
            last = found[-1]
            new = Quote(text=quoted, source=source["source"])
            found[-1] = Finding(task=last.task, quotes=(*last.quotes, new))
            quoted = ""
    return tuple(found)
