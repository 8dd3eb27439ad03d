"""Which names a sub-agent may have; used wherever a name comes in from outside."""

import re

from .errors import InvalidName, NameTaken
from .models import AgentName

TRANSFER_PREFIX = "transfer_to_"
_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_RESERVED = frozenset({"all", "system", "main", "user", "subagent"})
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


def transfer_tool_name(name: str) -> str:
    """The name of the tool that hands work to this agent."""
    return f"{TRANSFER_PREFIX}{name}"


def name_key(name: str) -> str:
    """What two names share when they are the same without regard to case."""
    return name.casefold()


def checked_name(name: str, *, other_tools: frozenset[str] = frozenset()) -> AgentName:
    """Check a name against all rules.

    Args:
        name: As it came in.
        other_tools: Names of tools that a `transfer_to_<name>` must not hide.

    Raises:
        InvalidName: It breaks a rule; the error says which.
        NameTaken: Its transfer tool would hide another tool.
    """
    if not _PATTERN.fullmatch(name):
        raise InvalidName(
            name, "use 1 to 32 letters, digits or underscores (a-z, A-Z, 0-9, _), a letter first"
        )
    key = name_key(name)
    if key in _RESERVED or key in _DEVICES:
        raise InvalidName(name, "this word is reserved")
    tool = transfer_tool_name(name)
    if tool.casefold() in {other.casefold() for other in other_tools}:
        raise NameTaken(name, f"another tool, {tool!r}")
    return AgentName(name)
