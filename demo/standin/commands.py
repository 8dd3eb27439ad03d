# ruff: noqa: RUF001 - commands are understood in three languages
"""Short orders about sub-agents, such as "protect NAME", that are one tool call each."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from .names import call
from .protocol import ToolCall

_NO_NAME = r"(?!(?:an?|my|the|it|them|sub-?agents?|agents?)\b)"
_NAME = rf"[`\"']?(?P<name>{_NO_NAME}[A-Za-z][A-Za-z0-9_]*)[`\"']?"
_PLEASE = r"(?:please\s+|请|пожалуйста,?\s+)?"
_AGENTS = r"(?:sub-?agents?|agents|子代理|субагент\w*)"
_THE = r"(?:(?:the\s+)?(?:sub-?agent\s+)?|(?:子代理)?\s*|(?:субагента\s+)?)"
_ENDING = r"(?:[\s,，]*(?:please|谢谢|пожалуйста))?[\s.!。！]*"

_NAMED: Mapping[str, str] = MappingProxyType(
    {
        "protect_subagent": r"(?:protect\s+|保护\s*|защити\s+)",
        "unprotect_subagent": r"(?:unprotect\s+|取消保护\s*|сними защиту с\s+)",
        "remove_subagent": r"(?:remove\s+|delete\s+|删除\s*|移除\s*|удали\s+)",
        "reset_subagent": r"(?:reset\s+|重置\s*|сбрось\s+)",
    }
)
_LIST = re.compile(
    rf"{_PLEASE}(?:(?:list|show)(?:\s+me)?(?:\s+all)?(?:\s+(?:the|my|your))?\s+|列出\s*|покажи\s+)"
    rf"{_AGENTS}{_ENDING}",
    re.IGNORECASE,
)


def understand(text: str) -> ToolCall | None:
    """Return the call that an order asks for; None when the text is no such order."""
    if _LIST.fullmatch(text):
        return call("list_subagents")
    for tool, verb in _NAMED.items():
        match = re.fullmatch(rf"{_PLEASE}{verb}{_THE}{_NAME}{_ENDING}", text, re.IGNORECASE)
        if match:
            return call(tool, name=match["name"])
    return None
