"""Reads a conversation: what the user asked last, and what was done about it since.

The mind keeps no state of its own; everything it decides follows from this.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from .protocol import ChatRequest, message_text
from .roles import is_copy

# In its schema mode `skills_like` AstrBot asks a second time for the calls, with this text.
_REQUERY = re.compile(r"\s*You have decided to call tool\(s\): ")
# Texts that AstrBot and plugins add to a user's message stand in tags.
_ADDED = re.compile(r"<(?P<tag>[A-Za-z_][\w-]*)[^<>]*>.*?</(?P=tag)>", re.DOTALL)
_NOTE_STARTS = ("<", "[")
WOKEN = "[Sub-agents] "
"""How a message begins with which the platform wakes the main agent."""
_RESUMED = (
    "Your work was interrupted and is now taken up again.",
    "You had asked:",
    "Current time:",
)
"""How the notes begin to a sub-agent that a restart cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call of this turn and what the tool replied."""

    name: str
    arguments: dict[str, Any]
    result: str

    @property
    def failed(self) -> bool:
        """Whether the reply is an error text."""
        return self.result.lstrip().lower().startswith("error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One user message and what happened since."""

    words: str
    """The user's own words."""
    added: str
    """What others put beside them: reminders, results that arrived meanwhile."""
    calls: tuple[Call, ...]
    answers: int
    """How often the model has answered in this turn."""

    def of(self, *names: str) -> tuple[Call, ...]:
        """Return the calls of these tools, in order."""
        return tuple(call for call in self.calls if call.name in names)


def read_turn(request: ChatRequest) -> Turn:
    """Find the newest turn of a conversation."""
    messages = [each for each in request.messages if each.get("role") != "system"]
    for index, message in enumerate(messages):
        if message.get("role") == "user" and _REQUERY.match(message_text(message)):
            messages = messages[:index]
            break
    start = _start(messages, is_copy=is_copy(request))
    if start is None:
        return Turn(words="", added="", calls=(), answers=0)
    since = messages[start + 1 :]
    words, added = own_words(messages[start])
    notes = [message_text(each) for each in since if each.get("role") == "user"]
    return Turn(
        words=words,
        added="\n".join([added, *notes]).strip(),
        calls=_calls(since),
        answers=sum(each.get("role") == "assistant" for each in since),
    )


def _start(messages: list[dict[str, Any]], *, is_copy: bool) -> int | None:
    users = [index for index, each in enumerate(messages) if each.get("role") == "user"]
    if users and is_copy:
        # All that it was ever told is one task; what comes later are the phases of its work.
        return users[0]
    for index in reversed(users):
        before = messages[index - 1].get("role") if index else None
        # Behind a tool's reply, and behind another user message when it is set in brackets,
        # stands a note of the host, not a new request.
        text = message_text(messages[index]).lstrip()
        is_note = text.startswith(_NOTE_STARTS) and not text.startswith(WOKEN)
        is_note = (is_note and before == "user") or text.startswith(_RESUMED)
        if before != "tool" and not is_note:
            return index
    return users[0] if users else None


def own_words(message: dict[str, Any]) -> tuple[str, str]:
    """Return a message's own words, and what others put beside them."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [message_text({"content": [part]}) for part in content]
        first = texts[0] if texts else ""
        rest = texts[1:]
    else:
        first, rest = message_text(message), []
    added = [match.group() for match in _ADDED.finditer(first)]
    return _ADDED.sub("", first).strip(), "\n".join([*added, *rest])


def _calls(messages: list[dict[str, Any]]) -> tuple[Call, ...]:
    results = {
        str(each.get("tool_call_id")): message_text(each)
        for each in messages
        if each.get("role") == "tool"
    }
    found: list[Call] = []
    for message in messages:
        for entry in message.get("tool_calls") or []:
            function = entry.get("function") or {}
            found.append(
                Call(
                    name=str(function.get("name", "")),
                    arguments=_arguments(function.get("arguments")),
                    result=results.get(str(entry.get("id")), ""),
                )
            )
    return tuple(found)


def _arguments(raw: object) -> dict[str, Any]:
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError:
            return {}
    return raw if isinstance(raw, dict) else {}
