"""What the API replies. Every text is data: nobody has escaped it, and it may hold anything."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema

from ..manager.models import AgentKind, DeliveryState, RunKind, RunState

_HALF_PAIR = re.compile("[\ud800-\udfff]")


def _whole_letters(value: Any) -> Any:
    """A text without halves of surrogate pairs, which no UTF-8 holds."""
    return _HALF_PAIR.sub("\ufffd", value) if isinstance(value, str) else value


def _whole_letters_within(value: Any) -> Any:
    if isinstance(value, dict):
        return {_whole_letters(key): _whole_letters_within(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_letters_within(each) for each in value]
    return _whole_letters(value)


def iso(at: datetime) -> str:
    """A time as the API writes it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Text = Annotated[str, BeforeValidator(_whole_letters)]
Time = Annotated[
    datetime,
    PlainSerializer(iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


Json = Annotated[dict[str, Any], BeforeValidator(_whole_letters_within)]


class Reply(BaseModel):
    """The root, and a reply without anything in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemReply(Reply):
    """Why a request was refused."""

    code: str
    """A name that stays."""
    message: Text
    fields: dict[str, Text]
    """What is wrong with single keys of the request."""


class Problem(Reply):
    """The body of every refusal."""

    error: ProblemReply


class Tokens(Reply):
    """Tokens of one model call."""

    input: int
    """Those that were not read from the provider's cache."""
    cached: int
    output: int


class UsageReply(Tokens):
    """Tokens of one or several model calls."""

    total: int


class FailureReply(Reply):
    """Why a run did not complete."""

    code: Text
    message: Text


class SessionRow(Reply):
    """One session with counts."""

    session: Text
    title: Text
    """A short form of its id."""
    adapter: Text
    last_active_at: Time
    created_at: Time
    agents: int
    """Dynamic ones."""
    running: int
    queued: int
    waiting: int
    runs_total: int
    failed_today: int
    tokens_today: int


class RunRow(Reply):
    """One run, as lists show it."""

    run_id: Text
    session: Text
    agent: Text | None
    kind: RunKind
    agent_type: str | None
    """How an unnamed copy works."""
    context: Literal["fresh", "fork"] | None
    """What an unnamed copy begins with."""
    group_id: Text | None
    depends_on: list[Text]
    parent: Text | None
    """The run that it does once more."""
    state: RunState
    background: bool
    input: Text
    """Its beginning."""
    owner: Text
    owner_name: Text | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    steps: int
    usage: UsageReply
    model: Text
    question: Text
    """What it asks or has asked last; "" is nothing."""
    failure: FailureReply | None
    cut_short: Text
    """The code of a limit that made it answer early; "" is none."""
    delivery: DeliveryState | None
    position: int | None
    """Its place in the line, from 1."""
    executor: Text


class ToolUseReply(Reply):
    """How often one tool was called."""

    name: Text
    calls: int
    errors: int


class ArtifactReply(Reply):
    """A file or image that the run made."""

    kind: Text
    name: Text
    path: Text


class OriginReply(Reply):
    """Where it was asked for."""

    adapter: Text
    sender_name: Text
    group_id: Text
    persona_id: Text
    message_type: Text


class ActionsReply(Reply):
    """What may be done to a run now."""

    cancel: bool
    steer: bool
    answer: bool
    retry: bool


class RunDetail(RunRow):
    """One run, whole."""

    last_text: Text
    image_urls: list[Text]
    tools_given: int
    tools_used: list[ToolUseReply]
    artifacts: list[ArtifactReply]
    origin: OriginReply
    actions: ActionsReply
    max_steps: int
    filter: Text | None


class AgentCard(Reply):
    """One agent and what it is doing."""

    name: Text
    kind: AgentKind
    protected: bool
    owner: Text
    """"" is the bot."""
    owner_name: Text | None
    """As the platform called them when they last gave it a task."""
    description: Text
    system_prompt: Text
    tools: list[Text] | None
    """`["*"]` is all that the asker may use; null is all, for static agents."""
    skills: list[Text] | None
    """null is all active ones, for static agents."""
    provider_id: Text
    workdir: Text
    persona_id: Text
    status: Literal["idle", "running", "queued", "waiting"]
    running: list[Text]
    queued: list[Text]
    memory_messages: int
    created_at: Time
    editable: bool


class ToolCallReply(Reply):
    """One tool call that a model asked for."""

    id: Text
    name: Text
    arguments: Text
    """JSON, as the model wrote it."""


class Message(Reply):
    """One message of a conversation."""

    index: int
    """Its place in the whole list, from 0."""
    role: Literal["user", "assistant", "tool", "system"]
    text: Text
    reasoning: Text | None
    tool_calls: list[ToolCallReply]
    tool_call_id: Text | None
    images: int
    at: Time
    step: int | None
    """The model call that it belongs to; null when that is not kept any more."""
    tokens: Tokens | None
    """Of the model call, at the message that it gave."""
    seconds: float | None
    """How long the model call, or the tool, took."""


class BoardNote(Reply):
    """One note of the board."""

    seq: int
    kind: Text
    sender: Text
    owner: Text
    target: Text
    content: Text
    at: Time


class EventRow(Reply):
    """Something that happened."""

    id: int
    session: Text
    run_id: Text | None
    kind: Text
    at: Time
    payload: Json


class SessionList(Reply):
    """Some sessions."""

    items: list[SessionRow]
    total: int


class RunList(Reply):
    """Some runs."""

    items: list[RunRow]
    total: int


class MessageList(Reply):
    """Some messages, oldest first."""

    items: list[Message]
    total: int


class Board(Reply):
    """All notes of a board, oldest first."""

    items: list[BoardNote]


class Removed(Reply):
    """How many went."""

    removed: int
