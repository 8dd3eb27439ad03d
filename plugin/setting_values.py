"""Values of settings as a page sees and sends them; secrets go in and never come out.

Nothing here knows AstrBot.
"""

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ..manager.settings import SECRETS, Settings
from .config import ENTRIES, ConfigProblem, parse_settings
from .page_entries import place_of, shown_entries

type Values = dict[str, Any]


def shown(settings: Settings, raw: Mapping[str, Any]) -> Values:
    """All settings as JSON; of a secret only whether there is one.

    Args:
        settings: What counts.
        raw: As AstrBot keeps them; of a list of entries all are shown, usable or not.
    """
    values: Values = _as_json(asdict(settings))
    for key in SECRETS:
        group, name = _group_of(values, key)
        group[name] = {"is_set": bool(group[name])}
    for key in ENTRIES:
        group, name = _group_of(values, key)
        group[name] = shown_entries(value_at(raw, key), ENTRIES[key])
    return values


def value_at(raw: Mapping[str, Any], key: str) -> object:
    """The value of a dotted key; None where there is none."""
    found: object = raw
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def changed(raw: Mapping[str, Any], values: Mapping[str, Any]) -> Values:
    """A copy of a configuration with other values.

    Args:
        raw: As AstrBot keeps it.
        values: By dotted key.
    """
    copied = copy.deepcopy(dict(raw))
    for key, value in values.items():
        group, name = _group_of(copied, key)
        group[name] = copy.deepcopy(value)
    return copied


def check(
    raw: Mapping[str, Any], candidate: Mapping[str, Any], keys: Iterable[str]
) -> tuple[Settings, dict[str, str]]:
    """Read a changed configuration with the parser that reads it at the start.

    Args:
        raw: The configuration as it is.
        candidate: The changed one.
        keys: The dotted keys that were sent.

    Returns:
        The settings that it would give, and what is wrong with it, by dotted key: all that is wrong
        with what was sent, and what the change made wrong elsewhere. What was wrong before is no
        hindrance, and neither is an entry of a list that stays as it was.
    """
    sent = tuple(keys)
    _, before = parse_settings(raw)
    known = {_meaning(raw, each) for each in before}
    settings, problems = parse_settings(candidate)

    def is_new(problem: ConfigProblem) -> bool:
        # of a list all entries are sent, those too that nobody changed
        was_sent = "[" not in problem.key and any(_is_in(problem.key, key) for key in sent)
        return was_sent or _meaning(candidate, problem) not in known

    return settings, {each.key: _text(each) for each in problems if is_new(each)}


def _meaning(config: Mapping[str, Any], problem: ConfigProblem) -> tuple[object, str]:
    """What is wrong with what, wherever in its list an entry has been moved to."""
    return place_of(config, problem.key), re.sub(r"\[\d+\]", "[]", problem.accepted)


def differing(one: Settings, other: Settings, keys: Iterable[str]) -> list[str]:
    """Which of the keys have another value."""
    left, right = asdict(one), asdict(other)
    return sorted(key for key in keys if _value(left, key) != _value(right, key))


def _text(problem: ConfigProblem) -> str:
    if problem.unknown:
        return f"There is no such setting. {problem.accepted}"
    return f"It takes {problem.accepted}."


def _is_in(key: str, sent: str) -> bool:
    return key == sent or key.startswith((f"{sent}.", f"{sent}["))


def _group_of(values: Values, key: str) -> tuple[Values, str]:
    *groups, name = key.split(".")
    for each in groups:
        inner = values.get(each)
        if not isinstance(inner, dict):
            # what stood there was of no use as it was
            inner = values[each] = {}
        values = inner
    return values, name


def _value(values: Mapping[str, Any], key: str) -> object:
    found: Any = values
    for part in key.split("."):
        found = found[part]
    return found


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    return value
