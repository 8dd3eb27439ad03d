"""The stand-in's mind: finds out who it is in a request and acts by the rules of that role.

It is no language model and says so. It knows only what stands in the request, so that any number
of conversations can run side by side.
"""

import re

from . import answers, copies, forks, main_agent, researcher, woken
from .names import CREATE, MANAGEMENT, SEARCH, TASK, TRANSFER
from .protocol import ChatReply, ChatRequest
from .roles import is_copy, is_fork
from .small_talk import is_small_talk
from .turn import Turn, read_turn

MAX_TITLE_WORDS = 8
NO_TITLE = "<None>"

_TITLE_ROLE = "title generator"
_TITLE_QUERY = re.compile(r"<user_query>\s*(?P<query>.*?)\s*</user_query>", re.DOTALL)


async def respond(request: ChatRequest) -> ChatReply:
    """Answer one chat request; this is a `Responder`."""
    if not request.tools and _TITLE_ROLE in request.system_text():
        return ChatReply(text=_title(request))
    if is_fork(request):
        return forks.act(request)
    turn = read_turn(request)
    if is_copy(request):
        return copies.act(request, turn)
    if woken.is_wake_up(turn):
        return woken.act(request, turn)
    offered = request.tool_names()
    if any(each in MANAGEMENT or each.startswith(TRANSFER) for each in offered):
        return main_agent.act(request, turn)
    if SEARCH in offered:
        return _search_or_greet(request, turn)
    return _without_tools(request, turn)


def _search_or_greet(request: ChatRequest, turn: Turn) -> ChatReply:
    if is_small_talk(turn.words):
        return ChatReply(text=answers.direct(turn.words))
    return researcher.act(request, turn)


def _without_tools(request: ChatRequest, turn: Turn) -> ChatReply:
    """Answer where no tool of ours is offered: for example the last step of an agent's budget."""
    if any(each.name in (CREATE, TASK) or each.name.startswith(TRANSFER) for each in turn.calls):
        return main_agent.conclude(request, turn)
    if turn.of(SEARCH):
        return researcher.act(request, turn)
    return ChatReply(text=answers.without_tools(turn.words))


def _title(request: ChatRequest) -> str:
    text = request.last_user_text()
    match = _TITLE_QUERY.search(text)
    query = match["query"] if match else text
    if is_small_talk(query) or not query:
        return NO_TITLE
    words = query.split()
    title = " ".join(words[:MAX_TITLE_WORDS])
    return title[:60] + ("..." if len(words) > MAX_TITLE_WORDS or len(title) > 60 else "")
