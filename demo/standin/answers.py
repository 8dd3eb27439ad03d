"""Writes the main agent's answer from what the sub-agents brought."""

from collections.abc import Iterable
from dataclasses import dataclass

from .findings import Finding, parse
from .small_talk import small_talk
from .texts import say
from .turn import Turn
from .words import language_of

MAX_REPLY_CHARACTERS = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How one part of the request went; empty texts where nothing is known."""

    strand: str
    reply: str = ""
    """What the tool said: findings, or any other text."""
    failure: str = ""
    pending: str = ""
    """The id of its task, which still runs."""


def direct(words: str) -> str:
    """Answer small talk, or a message without words to look up."""
    language = language_of(words)
    return _paragraphs([say(small_talk(words) or "no_words", language), say("about", language)])


def without_tools(words: str) -> str:
    """Answer a request that came without any tool."""
    language = language_of(words)
    return _paragraphs([say("no_tools", language), say("about", language)])


def arrived(results: str) -> str:
    """Answer a message that hands over the results of earlier work."""
    found = parse(results)
    language = language_of(" ".join(each.task for each in found))
    parts = [say("arrived", language), *_findings(found, language), say("about", language)]
    return _paragraphs(parts)


def told(results: str) -> str:
    """Answer a message that hands over results in which nothing was quoted."""
    language = language_of(results)
    return _paragraphs([say("arrived", language), _shorten(results), say("about", language)])


def merged(turn: Turn, reports: Iterable[Report]) -> str:
    """Put the reports together, in order, with what arrived from earlier turns behind them."""
    language = language_of(turn.words)
    parts = [_part(each, language) for each in reports]
    if earlier := parse(turn.added):
        parts += [say("arrived", language), *_findings(earlier, language)]
    return _paragraphs([*parts, say("about", language)])


def _part(report: Report, language: str) -> str:
    head = f"**{report.strand}**"
    if report.failure:
        return f"{head}\n{say('failed', language, reason=_shorten(report.failure))}"
    if report.pending:
        return f"{head}\n{say('pending', language, tasks=report.pending)}"
    if found := parse(report.reply):
        return f"{head}\n" + "\n".join(_body(each, language) for each in found)
    return f"{head}\n{_shorten(report.reply) or say('nothing', language)}"


def _findings(found: Iterable[Finding], language: str) -> list[str]:
    return [f"**{each.task}**\n{_body(each, language)}" for each in found]


def _body(finding: Finding, language: str) -> str:
    if not finding.quotes:
        return (
            f"{say('nothing', language)} ({finding.reason})"
            if finding.reason
            else say("nothing", language)
        )
    return "\n\n".join(f"> {each.text}\n\nsource: {each.source}" for each in finding.quotes)


def _shorten(text: str) -> str:
    clean = text.strip()
    return clean if len(clean) <= MAX_REPLY_CHARACTERS else clean[:MAX_REPLY_CHARACTERS] + " ..."


def _paragraphs(parts: Iterable[str]) -> str:
    return "\n\n".join(parts)
