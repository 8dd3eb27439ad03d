"""What was found for one task: quotes with their sources, as text and back.

A sub-agent writes this text as its answer; the main agent finds it again in a tool's reply,
whatever stands around it.
"""

import re
from dataclasses import dataclass

_HEAD = re.compile(r"^\W*(?:Findings|Nothing found) for: (?P<task>.*?)\s*$")
_QUOTED = re.compile(r"^[\s>|]*> (?P<text>\S.*?)\s*$")
_SOURCE = re.compile(r"^\W*source: (?P<source>\S.*?)\s*$")
_REASON = re.compile(r"^\W*reason: (?P<reason>\S.*?)\s*$")


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
    """Write a finding down."""
    if not finding.quotes:
        lines = [f"Nothing found for: {finding.task}"]
        return "\n".join([*lines, *([f"reason: {finding.reason}"] if finding.reason else [])])
    lines = [f"Findings for: {finding.task}"]
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
