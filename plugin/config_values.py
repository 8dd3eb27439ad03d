"""How each kind of value in the configuration is read; what does not fit is `Unusable`.

The kind of a value is its type in `Settings`; a few keys have rules of their own. Nothing here
knows AstrBot, and nothing is logged.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAliasType, get_args, get_origin

from ..manager.errors import InvalidName
from ..manager.names import checked_name, name_key
from ..manager.tool_filter import BUILT_IN_FILTERS

type Reader = Callable[[object], object]

_NAME_ACCEPTED = (
    "a name of 1 to 32 letters, digits or underscores, a letter first, that is not reserved "
    "(all, main, subagent, system, user, or a device name of Windows)"
)
_FILTER_NAME_ACCEPTED = (
    "a name of 1 to 64 printable characters that no built-in filter has "
    f"({', '.join(BUILT_IN_FILTERS)})"
)
ALL = "*"

LEAST: Mapping[str, int] = MappingProxyType(
    {
        "max_steps": 1,
        "max_parallel_per_session": 1,
        "max_parallel_total": 1,
        "same_call_limit": 1,
        "result_maxlen": 200,
        "shared_context_maxlen": 1,
        "task.max_tasks_per_call": 1,
        "question_timeout": 1,
        "delivery.max_attempts": 1,
        "dashboard.port": 1,
    }
)
"""The smallest allowed number of a key; 0 for every number that is not named."""
_MOST = 1_000_000_000
"""The largest allowed number of a key that is not named: clocks and stores cannot take just any."""
_MOST_OF_KEY: Mapping[str, int] = MappingProxyType({"dashboard.port": 65535})
_SHORTEST_TOKEN = 12
"""Characters: with so many nobody guesses it in the tries that the dashboard's login allows."""
_LONGEST_TOKEN = 200
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


class Unusable(Exception):
    """A value does not fit; the text says what would."""


def reader_of(hint: Any, key: str) -> Reader:
    """Find what reads a value.

    Args:
        hint: The type of the key in `Settings`.
        key: Dotted, with the numbers of list entries.

    Returns:
        A function that returns the value as `Settings` holds it, or raises `Unusable`.
    """
    if (reader := _OF_KEY.get(re.sub(r"\[\d+\]", "[]", key))) is not None:
        return reader
    if isinstance(hint, TypeAliasType):
        hint = hint.__value__
    if get_origin(hint) is Literal:
        return partial(_read_choice, choices=get_args(hint))
    if hint in (int, float):
        least, most = bounds_of(key)
        return partial(_read_int if hint is int else _read_float, least=least, most=most)
    return _OF_TYPE[hint]


def bounds_of(key: str) -> tuple[int, int]:
    """The smallest and the largest number that a key takes."""
    return LEAST.get(key, 0), _MOST_OF_KEY.get(key, _MOST)


def _read_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unusable("true or false")
    return value


def _read_int(value: object, *, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Unusable(f"a whole number of at least {least} and at most {most}")
    return value


def _read_float(value: object, *, least: int, most: int) -> float:
    accepted = f"a number of at least {least} and at most {most}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unusable(accepted)
    # Python's JSON reader takes NaN and Infinity too, which are not in between.
    if not least <= value <= most:
        raise Unusable(accepted)
    return value


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise Unusable("a text")
    return value


def _read_choice(value: object, *, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise Unusable("one of " + ", ".join(f"`{choice}`" for choice in choices))
    return value


def _read_names(value: object, *, accepted: str = "a list of texts") -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise Unusable(accepted)
    names = tuple(name for each in value if (name := each.strip()))
    if value and not names:
        # an empty list can mean everything: blanks must not pass for one
        raise Unusable(accepted)
    return names


def _read_names_or_all(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    return _read_names(value, accepted='a list of texts, ["*"] for all, or null')


def _read_skills(value: object) -> tuple[str, ...] | None:
    names = _read_names_or_all(value)
    return None if names is not None and ALL in names else names


def _read_agent_name(value: object) -> str:
    if not isinstance(value, str):
        raise Unusable(_NAME_ACCEPTED)
    try:
        return checked_name(value.strip())
    except InvalidName as error:
        raise Unusable(_NAME_ACCEPTED) from error


def _read_filter_name(value: object) -> str:
    if not isinstance(value, str):
        raise Unusable(_FILTER_NAME_ACCEPTED)
    name = value.strip()
    if not (0 < len(name) <= 64 and name.isprintable()) or name_key(name) in BUILT_IN_FILTERS:
        raise Unusable(_FILTER_NAME_ACCEPTED)
    return name


def _read_id(value: object) -> str:
    return _read_text(value).strip()


def _read_host(value: object) -> str:
    host = _read_id(value)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if not _HOST_NAME.fullmatch(host):
            raise Unusable("a host name or an address, without a port") from None
    return host


def _read_token(value: object) -> str:
    token = _read_id(value)
    if token and not (_SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN and token.isprintable()):
        raise Unusable(
            f"{_SHORTEST_TOKEN} to {_LONGEST_TOKEN} printable characters, or an empty text"
        )
    return token


def _read_folder(value: object) -> str:
    folder = _read_id(value)
    if folder and not _is_absolute(folder):
        raise Unusable("the absolute path of a folder, or an empty text")
    return folder


def _read_folders(value: object) -> tuple[str, ...]:
    accepted = "a list of absolute paths"
    folders = _read_names(value, accepted=accepted)
    if not all(map(_is_absolute, folders)):
        raise Unusable(accepted)
    return folders


def _is_absolute(folder: str) -> bool:
    return "\0" not in folder and Path(folder).is_absolute()


_OF_TYPE: Mapping[Any, Reader] = MappingProxyType(
    {
        bool: _read_bool,
        str: _read_text,
        tuple[str, ...]: _read_names,
        tuple[str, ...] | None: _read_names_or_all,
    }
)
_OF_KEY: Mapping[str, Reader] = MappingProxyType(
    {
        "dashboard.host": _read_host,
        "dashboard.token": _read_token,
        "static_agents[].name": _read_agent_name,
        "static_agents[].persona_id": _read_id,
        "static_agents[].provider_id": _read_id,
        "static_agents[].skills": _read_skills,
        "static_agents[].workdir": _read_folder,
        "task.custom_filters[].name": _read_filter_name,
        "task.default_tool_filter": _read_id,
        "workdir_roots": _read_folders,
    }
)
"""Keys whose type alone does not say what they take."""
