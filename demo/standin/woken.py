"""What the stand-in does in a turn that no person began: results came, or the bot was restarted.

The message itself says only that; what it is about stands beside it.
"""

import re
from dataclasses import replace

from . import answers, main_agent
from .findings import parse
from .protocol import ChatReply, ChatRequest
from .texts import say
from .turn import WOKEN, Turn
from .words import language_of

_LOST = re.compile(
    r"has no answer yet:\n<<message (?P<mark>\w+)\n(?P<words>.*?)\nmessage (?P=mark)>>", re.DOTALL
)
_RESULTS = re.compile(r"^Results that arrived[^\n]*:\n+(?P<results>.*)", re.DOTALL | re.MULTILINE)


def is_wake_up(turn: Turn) -> bool:
    """Tell whether the platform began this turn, and no person."""
    return turn.words.startswith(WOKEN)


def act(request: ChatRequest, turn: Turn) -> ChatReply:
    """Go on with the messages that a restart cut off; without one, tell the results."""
    if lost := [each["words"] for each in _LOST.finditer(turn.added)]:
        words = "\n".join(lost)
        reply = main_agent.act(request, replace(turn, words=words))
        if not reply.text:
            return reply
        return ChatReply(text=f"{say('resumed', language_of(words))}\n\n{reply.text}")
    if parse(turn.added):
        return ChatReply(text=answers.arrived(turn.added))
    found = _RESULTS.search(turn.added)
    return ChatReply(text=answers.told(found["results"] if found else turn.added))
