"""Lists of entries in the settings, such as static agents, as a page sees them and sends them back.

A page sends a list back as a whole, so it is shown every entry, those too that cannot be used: what
it does not know of would be lost by any saving. In place of a value that cannot be used it is shown
the default. Each entry carries a tag made of what stands in the configuration, and one that comes
back with its tag and otherwise as it was shown stays as it stands there, whatever is wrong with it.
Nothing here knows AstrBot.
"""

import copy
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .config import OF_THE_PAGE, Entry, usable_values
from .config_values import ALL

TAG = "etag"
"""The key of an entry's tag; the configuration never has it."""

type Values = dict[str, Any]


def shown_entries(raw: object, declared: type[Entry]) -> list[Values]:
    """All entries of a list as JSON, in their order, with a value for each key that there is.

    Args:
        raw: What the configuration has; what is no list has no entries.
        declared: What the entries are.
    """
    return [_shown(each, declared) for each in _listed(raw)]


def restored(sent: object, raw: object, declared: type[Entry]) -> object:
    """What a page sent, with the entries that it did not change as they stand in `raw`."""
    if not isinstance(sent, Sequence) or isinstance(sent, str):
        return sent
    standing = {tag_of(each): each for each in _listed(raw)}
    return [_restored(each, standing, declared) for each in sent]


def tag_of(value: object) -> str:
    """A text that differs where the value does, for JSON values of any kind."""
    as_json = json.dumps(_without_marks(value), sort_keys=True, default=str)
    return hashlib.sha256(as_json.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def place_of(config: Mapping[str, Any], key: str) -> object:
    """What a key of the parser means, wherever in its list an entry has been moved to.

    Args:
        config: The configuration that was read.
        key: Dotted, with the numbers of entries, as `static_agents[2].skills`.
    """
    if (found := re.fullmatch(r"([^\[]+)\[(\d+)\](.*)", key)) is None:
        return key
    entries: Any = config
    for part in found[1].split("."):
        entries = entries[part]
    return found[1], tag_of(entries[int(found[2])]), found[3]


def _shown(raw: object, declared: type[Entry]) -> Values:
    values = asdict(declared(name="")) | usable_values(declared, raw)
    return {key: as_form_has_it(each) for key, each in values.items()} | {TAG: tag_of(raw)}


def _restored(sent: object, standing: Mapping[str, object], declared: type[Entry]) -> object:
    if not isinstance(sent, Mapping) or TAG not in sent:
        return sent
    tag = sent[TAG]
    if isinstance(tag, str) and tag in standing and sent == _shown(standing[tag], declared):
        return copy.deepcopy(standing[tag])
    return {key: each for key, each in sent.items() if key != TAG}


def _listed(raw: object) -> Iterable[object]:
    return raw if isinstance(raw, list | tuple) else ()


def _without_marks(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: each for key, each in value.items() if key not in OF_THE_PAGE}
    return value


def as_form_has_it(value: object) -> object:
    """A value of a setting as JSON; a form knows no null in a list's place, all is a star there."""
    if value is None:
        return [ALL]
    return list(value) if isinstance(value, tuple) else value
