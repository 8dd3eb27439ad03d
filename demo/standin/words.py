# ruff: noqa: RUF001 - texts in Chinese and Russian are what this file is about
"""Words of a user: their language, their key words, and names made from them.

Plain rules, no model. The key words go to a search over English documentation, so known Chinese
and Russian words are also given in English (see `glossary`).
"""

import re

from .glossary import ENGLISH_OF
from .stopwords import STOP_WORDS

MAX_NAME = 32
MAX_KEYWORDS = 12

# A path such as /etc/hosts is one word, and so is a command such as /stop: a text that holds the
# bare word "stop" does not speak of it.
_WORD = re.compile(
    r"(?<![\w/.:~])/[A-Za-z][\w-]*(?:/[\w.-]+)*"
    r"|[A-Za-z][A-Za-z0-9_]*(?:[-.][A-Za-z0-9_]+)*|[А-Яа-яЁё]+|[0-9]+(?:\.[0-9]+)*|[一-鿿]+"
)
_ORDER_TO_LIST = re.compile(r"\s*(?:please\s+)?list\b", re.IGNORECASE)
_TIMEOUT = re.compile(r"\btim(?:e|es|ed|ing)[- ]outs?\b", re.IGNORECASE)
_SUB_AGENT = re.compile(r"\bsub[- ]agent")
_STEM_LETTERS = 6
_SHORT_WORD = 3
_CHINESE = re.compile(r"[一-鿿]")
_RUSSIAN = re.compile(r"[А-Яа-яЁё]")
_NAME_WORDS = 3
_RESERVED = frozenset({"all", "system", "main", "user", "subagent", "con", "prn", "aux", "nul"})
# They would make names that read like those of tools: transfer_to_protect_subagent.
_NO_NAME_PARTS = frozenset({"subagent", "subagents", "for", "to"})


def language_of(text: str) -> str:
    """Return `zh`, `ru` or `en`, by the letters used."""
    if _CHINESE.search(text):
        return "zh"
    return "ru" if _RUSSIAN.search(text) else "en"


def keywords(text: str) -> tuple[str, ...]:
    """Return the words that carry the meaning, in order, each once, at most `MAX_KEYWORDS`."""
    found: dict[str, None] = {}
    # "List the settings" is about settings, "How do I list them" is about listing.
    about = _ORDER_TO_LIST.sub("", text, count=1) if _ORDER_TO_LIST.match(text) else text
    for match in _WORD.finditer(_TIMEOUT.sub("timeout", about)):
        word = match.group().lower()
        for english in _in_english(word):
            found.setdefault(english)
        if word not in STOP_WORDS and (len(word) > 1 or word.isdigit()):
            found.setdefault(word)
    return tuple(found)[:MAX_KEYWORDS]


def stems(text: str) -> frozenset[str]:
    """Return the beginnings of all words, so that forms of one word are met as the same.

    Parts of a compound count too, and a path or command counts as a whole as well; "sub-agent"
    and "subagent" are one word; Chinese, which has no spaces, is taken by pairs of characters.
    """
    plain = _SUB_AGENT.sub("subagent", _TIMEOUT.sub("timeout", text.lower()))
    found: set[str] = set()
    for match in _WORD.finditer(plain):
        if match.group().startswith("/"):
            found.add(match.group())
        for part in re.split(r"[-_./]", match.group()):
            if _CHINESE.match(part):
                found.update(part[at : at + 2] for at in range(max(1, len(part) - 1)))
            elif part:
                ending = part[:-1] if len(part) > _SHORT_WORD and part.endswith("s") else part
                found.add(ending[:_STEM_LETTERS])
    return frozenset(found)


def agent_name(text: str, *, number: int, taken: frozenset[str] = frozenset()) -> str:
    """Make a name for a sub-agent from the words of its task.

    Args:
        text: The task.
        number: Used where the words give no name, and to tell equal names apart.
        taken: Names that are not to be used, in lower case.

    Returns:
        Letters, digits and underscores, a letter first, at most 32, none of the reserved names.
    """
    plain = dict.fromkeys(_as_name(word) for word in keywords(text) if word.isascii())
    name = (
        "_".join([word for word in plain if word][:_NAME_WORDS])
        .lstrip("0123456789_")[:MAX_NAME]
        .rstrip("_")
    )
    if len(name) < 3 or name in _RESERVED:
        name = f"topic_{number}"
    if name not in taken:
        return name
    ending = f"_{number}"
    return name[: MAX_NAME - len(ending)].rstrip("_") + ending


def _as_name(word: str) -> str:
    clean = re.sub(r"[^a-z0-9_]", "", word.replace(".", "_"))
    return "_".join(part for part in clean.split("_") if part not in _NO_NAME_PARTS)


def _in_english(word: str) -> list[str]:
    found: list[str] = []
    if word.isascii():
        return found
    # Longest first, each taken out: the Chinese for "sub-agent" holds that for "agent".
    for stem in sorted(ENGLISH_OF, key=len, reverse=True):
        if stem in word:
            found.append(ENGLISH_OF[stem])
            word = word.replace(stem, " ")
    return found
