"""JSON text <-> where something was asked for, as a column of runs and turns."""

from dataclasses import fields

from ..models import Origin
from .texts import dump_json, load_json

_NAMES = tuple(field.name for field in fields(Origin))


def origin_text(origin: Origin) -> str:
    """What a column holds: parts that say nothing are left out."""
    parts = {name: getattr(origin, name) for name in _NAMES}
    return dump_json(
        {
            name: value
            for name, value in parts.items()
            if value or (name == "tools" and value is not None)
        }
    )


def read_origin(text: str) -> Origin:
    """The origin in a column."""
    # Parts that a later version added are left out: they need no change of the schema.
    found = load_json(text)
    tools, generation = found.pop("tools", None), int(found.pop("generation", 0))
    texts = {name: str(found[name]) for name in _NAMES if name in found}
    return Origin(
        **texts,
        generation=generation,
        tools=None if tools is None else tuple(map(str, tools)),
    )
