"""Arguments as they come from a model: checked once, with texts that say what to send instead."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ..manager.store.texts import clean

TOLERATED = frozenset({"poll_interval"})
"""Parameters of similar systems that models send out of habit; they are ignored."""

_PROBLEMS = 10
"""Wrong arguments of one call that are told."""


class Arguments(BaseModel):
    """The root of all argument models: null counts as left out, unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {
            key: _encodable(value)
            for key, value in data.items()
            if value is not None and (key not in TOLERATED or key in cls.model_fields)
        }


def _encodable(value: Any) -> Any:
    """A value whose texts hold no lone surrogates: no model request and no row takes those."""
    if isinstance(value, str):
        return clean(value)
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def validation_text(error: ValidationError, model: type[BaseModel]) -> str:
    """Say for each wrong argument what is wrong and what is allowed."""
    problems = error.errors(include_url=False)
    texts = [_problem(dict(item), _at(item["loc"], model)) for item in problems[:_PROBLEMS]]
    if (more := len(problems) - _PROBLEMS) > 0:
        texts.append(f"And {more} more problems.")
    return " ".join(texts)


def _at(place: Sequence[int | str], model: type[BaseModel]) -> type[BaseModel]:
    """The model in which the argument at this place stands: some arguments are models too."""
    for part in place[:-1]:
        field = model.model_fields.get(str(part))
        inner = _model_in(field.annotation) if field is not None else None
        model = inner or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each))), None)


def _problem(item: Mapping[str, Any], model: type[BaseModel]) -> str:
    known = sorted(model.model_fields)
    place = _shown(_place(item["loc"]))
    kind = item["type"]
    if kind == "missing":
        return f"`{place}` is required."
    if kind == "extra_forbidden":
        near = get_close_matches(str(item["loc"][-1]), known, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        return f"`{place}` is not a parameter.{hint} Parameters: {', '.join(known)}."
    if kind == "model_type":
        known.sort(key=lambda name: not model.model_fields[name].is_required())
        names = ", ".join(f"`{name}`" for name in known)
        return f"`{place}` must be an object with {names} (you sent {_sent(item)})."
    problem = str(item["msg"]).replace("valid tuple", "list")
    return f"`{place}`: {problem} (you sent {_sent(item)})."


def _place(parts: Sequence[int | str]) -> str:
    """Where an argument stands, as the core's errors say it too: `tasks[0].task`."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return place.removeprefix(".") or "arguments"


def _sent(item: Mapping[str, Any]) -> str:
    return _shown(repr(item.get("input")))


def _shown(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."
