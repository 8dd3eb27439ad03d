"""Ranks sections of Markdown files by the words of a query (BM25).

Pure text work: it knows no files and no AstrBot.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass

K1 = 1.4
B = 0.75
HEADING_WEIGHT = 3
STEM_LETTERS = 6
SHORT_WORD = 3

_WORD = re.compile(r"[a-z0-9]+|[а-яё]+|[一-鿿]+")  # noqa: RUF001 - Cyrillic is meant
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*\s*$")
_TIMEOUT = re.compile(r"\btim(?:e|es|ed|ing)[- ]outs?\b")
_SUB_AGENT = re.compile(r"\bsub[- ]agent")
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text under one heading."""

    source: str
    """`path#heading`, or the path alone for what stands above the first heading."""
    text: str


def sections_of(path: str, markdown: str) -> list[Section]:
    """Part a file at its headings; headings inside code blocks do not count."""
    found: list[Section] = []
    title, lines, in_code = "", [], False
    for line in [*markdown.splitlines(), "# end"]:
        heading = None if in_code else _HEADING.match(line)
        if line.lstrip().startswith("```"):
            in_code = not in_code
        if heading is None:
            lines.append(line)
            continue
        if text := "\n".join(lines).strip():
            found.append(Section(source=f"{path}#{title}" if title else path, text=text))
        title, lines = _LINK.sub(r"\g<text>", heading["title"]).replace("`", ""), []
    return found


class Index:
    """Sections ready to be searched."""

    def __init__(self, sections: list[Section]) -> None:
        self._sections = sections
        self._counts = [_counts(each) for each in sections]
        self._lengths = [sum(each.values()) for each in self._counts]
        self._average = sum(self._lengths) / len(sections) if sections else 1.0
        self._holding = Counter(word for each in self._counts for word in each)

    def best(self, query: str, limit: int) -> list[Section]:
        """Return the sections that fit a query best, at most so many; none without a word met."""
        words = set(_words(query))
        scored = [(self._score(at, words), at) for at in range(len(self._sections))]
        scored.sort(key=lambda each: (-each[0], each[1]))
        return [self._sections[at] for score, at in scored[:limit] if score > 0]

    def _score(self, at: int, words: set[str]) -> float:
        counts, total = self._counts[at], len(self._sections)
        weight = K1 * (1 - B + B * self._lengths[at] / self._average)
        score = 0.0
        for word in words & counts.keys():
            holding = self._holding[word]
            rarity = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
            score += rarity * counts[word] * (K1 + 1) / (counts[word] + weight)
        return score


def _counts(section: Section) -> Counter[str]:
    counts = Counter(_words(section.text))
    for word in _words(section.source.partition("#")[2]):
        counts[word] += HEADING_WEIGHT
    return counts


def _words(text: str) -> list[str]:
    plain = _SUB_AGENT.sub("subagent", _TIMEOUT.sub("timeout", text.lower()))
    found: list[str] = []
    for word in _WORD.findall(plain):
        if "一" <= word[0] <= "鿿":
            # Chinese has no spaces: take it by pairs of characters.
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            is_plural = len(word) > SHORT_WORD and word.endswith("s")
            found.append((word[:-1] if is_plural else word)[:STEM_LETTERS])
    return found
