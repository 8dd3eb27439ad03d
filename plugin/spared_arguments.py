"""Keeps arguments of our tools from clashing with names in AstrBot's own call of a tool.

Models make up arguments such as `context`; AstrBot would answer with a Python error. They are
renamed before the call, and get their names back inside it.
"""

from collections.abc import Mapping
from typing import Any

_RESERVED = frozenset(
    {"tool", "run_context", "tool_call_timeout", "context", "handler", "method_name", "cls"}
)
"""Names that AstrBot's own call of a tool uses up; see core/astr_agent_tool_exec.py."""

_SPARED = "argument:"


def spare(arguments: object) -> None:
    """Rename reserved arguments in place; what is no dictionary stays as it is."""
    if isinstance(arguments, dict):
        for name in _RESERVED & arguments.keys():
            arguments[_SPARED + name] = arguments.pop(name)


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the model gave them."""
    return {name.removeprefix(_SPARED): value for name, value in arguments.items()}
