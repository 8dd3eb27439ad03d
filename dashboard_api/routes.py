"""The table of all routes: the one source for answering, for the OpenAPI document and the docs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from . import asks, replies
from . import replies_pages as pages
from .agent_actions import create, edit, protect, remove, reset
from .board_views import board, clear_board, post_note, switch
from .dashboard import Dashboard
from .overview import overview
from .run_actions import answer, cancel, retry, steer
from .run_views import run, runs
from .session_views import session, sessions
from .settings_views import catalog, save_settings, save_static_agents, settings, static_agents
from .timeline_views import timeline
from .transcript_views import memory, transcript
from .usage_views import usage

OPENAPI = "/openapi"
EVENTS = "/events"

type Method = Literal["GET", "POST"]
type Handler = Callable[[Dashboard, Any], Awaitable[BaseModel]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One path with its one method."""

    method: Method
    path: str
    asks: type[BaseModel]
    """Its query, or its body."""
    replies: type[BaseModel]
    handle: Handler | None
    """None: `Api` answers by itself, with the document or the stream."""
    summary: str


def _route(
    method: Method,
    path: str,
    asked: type[BaseModel],
    replied: type[BaseModel],
    handle: Handler | None,
    summary: str,
) -> Route:
    return Route(
        method=method, path=path, asks=asked, replies=replied, handle=handle, summary=summary
    )


_get = partial(_route, "GET")
_post = partial(_route, "POST")

ROUTES: tuple[Route, ...] = (
    _get("/overview", asks.Asks, pages.Overview, overview, "The bot at a glance"),
    _get("/sessions", asks.SessionsAsks, replies.SessionList, sessions, "Sessions"),
    _get("/session", asks.SessionAsks, pages.SessionPage, session, "One session"),
    _get("/runs", asks.RunsAsks, replies.RunList, runs, "Runs of all sessions, or of one"),
    _get("/run", asks.RunAsks, replies.RunDetail, run, "One run"),
    _get(
        "/transcript", asks.TranscriptAsks, replies.MessageList, transcript, "The messages of a run"
    ),
    _get("/timeline", asks.TimelineAsks, pages.Timeline, timeline, "Runs of a session as bars"),
    _get("/board", asks.SessionAsks, replies.Board, board, "The notice board of a session"),
    _get("/memory", asks.MemoryAsks, replies.MessageList, memory, "What an agent remembers"),
    _get("/catalog", asks.CatalogAsks, pages.Choices, catalog, "What agents can be made of"),
    _get("/settings", asks.Asks, pages.SettingsPage, settings, "All settings"),
    _get("/static_agents", asks.Asks, pages.StaticAgentsPage, static_agents, "Static agents"),
    _get("/usage", asks.UsageAsks, pages.UsagePage, usage, "What runs used"),
    _get(OPENAPI, asks.Asks, replies.Reply, None, "This document"),
    _get(EVENTS, asks.EventsAsks, replies.EventRow, None, "Events as they happen"),
    _post("/agents/create", asks.NewAgentAsks, replies.AgentCard, create, "Make an agent"),
    _post("/agents/edit", asks.AgentChangeAsks, replies.AgentCard, edit, "Change an idle agent"),
    _post("/agents/protect", asks.ProtectAsks, replies.AgentCard, protect, "Keep an agent, or not"),
    _post("/agents/reset", asks.AgentAsks, replies.AgentCard, reset, "Forget an agent's memory"),
    _post("/agents/remove", asks.AgentAsks, replies.Reply, remove, "Remove an agent"),
    _post("/board/post", asks.NoteAsks, replies.BoardNote, post_note, "Post a note"),
    _post("/board/clear", asks.ClearBoardAsks, replies.Removed, clear_board, "Take notes away"),
    _post("/switches", asks.SwitchAsks, pages.Switches, switch, "Switch memories and board"),
    _post("/runs/cancel", asks.RunActionAsks, replies.RunDetail, cancel, "Stop a run"),
    _post("/runs/steer", asks.SteerAsks, replies.Reply, steer, "Tell a run something"),
    _post("/runs/answer", asks.AnswerAsks, replies.Reply, answer, "Answer a run's question"),
    _post("/runs/retry", asks.RunActionAsks, replies.RunRow, retry, "Do a run once more"),
    _post(
        "/settings/save",
        asks.SaveSettingsAsks,
        pages.SettingsPage,
        save_settings,
        "Change settings, all or none",
    ),
    _post(
        "/static_agents/save",
        asks.SaveStaticAgentsAsks,
        pages.StaticAgentsPage,
        save_static_agents,
        "Replace the static agents, all or none",
    ),
)
