"""How the stand-in acts as a sub-agent: one search, then an answer of quotes with sources."""

from . import findings, quoting, texts
from .findings import Finding
from .names import SEARCH, call
from .protocol import ChatReply, ChatRequest
from .roles import is_copy
from .turn import Turn
from .words import keywords, language_of

INSTRUCTIONS = (
    "You look things up in this project's documentation. Call search_project_docs with the key "
    "words of your task. Answer with quotes and the source of each; say so when nothing is found."
)
SECTIONS = 4


def act(request: ChatRequest, turn: Turn) -> ChatReply:
    """Search for the key words of the task, or answer from the search that was made."""
    searches = turn.of(SEARCH)
    words = keywords(turn.words)
    if not searches and words and SEARCH in request.tool_names():
        return ChatReply(tool_calls=(call(SEARCH, query=" ".join(words), limit=SECTIONS),))
    task, language = " ".join(turn.words.split()), language_of(turn.words)
    if not searches:
        reason = texts.say("no_tools" if words else "wordless", language)
        finding = Finding(task=task, reason=reason)
    elif searches[-1].failed:
        finding = Finding(task=task, reason=" ".join(searches[-1].result.split()))
    else:
        quotes = quoting.select(searches[-1].result, task)
        reason = "" if quotes else texts.say("no_hit", language, words=", ".join(words))
        finding = Finding(task=task, quotes=quotes, reason=reason)
    answer = findings.render(finding)
    if INSTRUCTIONS not in request.system_text() and not is_copy(request):
        # Not asked by the stand-in's main agent, so a person may read this answer directly.
        answer = f"{answer}\n\n{texts.say('about', language)}"
    return ChatReply(text=answer)
