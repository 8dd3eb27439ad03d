"""What requests hold: queries of GET, JSON bodies of POST. Unknown keys are refused.

Texts with NUL characters or halves of surrogate pairs are refused as well: neither a database nor
a model takes them.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
)

from ..manager.models import RunKind, RunState
from ..manager.shared_context import EVERYONE

_LARGEST = 2**53 - 1
"""The largest whole number that JSON means the same by everywhere."""
_NO_NUL = r"^[^\x00]*$"
_DIGITS = re.compile("[0-9]{1,16}")
_STATES = "|".join(RunState)

type Only = Literal["all", "live", "failed"]


def _whole(value: Any) -> Any:
    """A whole number of a query, which is text."""
    if not isinstance(value, str) or not _DIGITS.fullmatch(value):
        raise ValueError("takes a whole number, 0 or greater, in digits")
    return int(value)


def _moment(value: Any) -> Any:
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError("takes a time with its zone, as 2030-01-31T12:00:00Z")
    return at


def _states(value: Any) -> Any:
    try:
        return tuple(RunState(each) for each in value.split(","))
    except (AttributeError, ValueError):
        raise ValueError(f"takes states, separated by commas: {', '.join(RunState)}") from None


Id = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=_NO_NUL)]
Words = Annotated[str, StringConstraints(pattern=_NO_NUL)]
Said = Annotated[str, StringConstraints(min_length=1, pattern=_NO_NUL)]
Prompt = Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=_NO_NUL)]
Description = Annotated[str, StringConstraints(max_length=2_000, pattern=_NO_NUL)]
Note = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=_NO_NUL)]
"""These three are as long as the main model's tools take them."""
Names = Annotated[list[Said], Field(max_length=1_000)]
Entry = Annotated[dict[str, JsonValue], Field(max_length=100)]
Search = Annotated[str, StringConstraints(max_length=500, pattern=_NO_NUL)]
Whole = Annotated[int, Field(ge=0, le=_LARGEST), BeforeValidator(_whole)]
Limit = Annotated[int, Field(ge=1, le=200), BeforeValidator(_whole)]
LongLimit = Annotated[int, Field(ge=1, le=500), BeforeValidator(_whole)]
Days = Annotated[int, Field(ge=1, le=366), BeforeValidator(_whole)]
Moment = Annotated[
    datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]
States = Annotated[
    tuple[RunState, ...],
    BeforeValidator(_states),
    WithJsonSchema({"type": "string", "pattern": f"^({_STATES})(,({_STATES}))*$"}),
]


class Asks(BaseModel):
    """The root: a request that needs nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ListAsks(Asks):
    """A part of a list."""

    offset: Whole = 0
    limit: Limit = 50


class SessionsAsks(ListAsks):
    """Which sessions are listed."""

    query: Search = ""
    """In their ids."""
    only: Only = "all"


class SessionAsks(Asks):
    """Which session."""

    session: Id


class RunsAsks(ListAsks):
    """Which runs are listed; what is left out is any."""

    session: Id | None = None
    agent: Id | None = None
    state: States = ()
    kind: RunKind | None = None
    group: Id | None = None
    query: Search = ""
    """In their tasks."""
    since: Moment | None = None


class TimelineAsks(SessionAsks):
    """Which part of a session's timeline."""

    since: Moment | None = None
    """Left out: the newest runs, whenever they were."""
    until: Moment | None = None
    """Left out: no end."""


class RunAsks(SessionAsks):
    """Which run."""

    run_id: Id


class TranscriptAsks(RunAsks):
    """Which part of a run's transcript."""

    offset: Whole = 0
    limit: LongLimit = 200


class MemoryAsks(ListAsks):
    """Which part of an agent's memory."""

    session: Id
    agent: Id


class CatalogAsks(Asks):
    """For which session; left out: for any."""

    session: Id | None = None


class UsageAsks(Asks):
    """Of how many days, today included, and of which session; left out: of all."""

    days: Days = 30
    session: Id | None = None


class EventsAsks(Asks):
    """Which events are streamed."""

    after: Whole | None = None
    """An event's id; left out: from now on."""
    session: Id | None = None
    run_id: Id | None = None


class BodyAsks(Asks):
    """The root of all bodies: nothing is turned into another type."""

    model_config = ConfigDict(strict=True)


class NewAgentAsks(BodyAsks):
    """What a new agent is to be."""

    session: Id
    name: Said
    system_prompt: Prompt
    description: Description = ""
    tools: Names = Field(default_factory=list)
    skills: Names = Field(default_factory=list)
    provider_id: Words = ""
    workdir: Words = ""
    protected: bool = False


class AgentChangeAsks(BodyAsks):
    """What an agent is to be from now on; what is left out or null stays."""

    session: Id
    name: Said
    system_prompt: Prompt | None = None
    description: Description | None = None
    tools: Names | None = None
    skills: Names | None = None
    provider_id: Words | None = None
    workdir: Words | None = None


class AgentAsks(BodyAsks):
    """Which agent."""

    session: Id
    name: Said


class ProtectAsks(AgentAsks):
    """Whether an agent outlives its turn."""

    protected: bool


class NoteAsks(BodyAsks):
    """A note for the board."""

    session: Id
    kind: Literal["message", "system"]
    content: Note
    target: Said = EVERYONE


class ClearBoardAsks(BodyAsks):
    """Which notes go: those of one sender; left out or null: all."""

    session: Id
    sender: Said | None = None


class SwitchAsks(BodyAsks):
    """A session's own switches; null follows the settings, what is left out stays."""

    session: Id
    memory: bool | None = None
    board: bool | None = None


class RunActionAsks(BodyAsks):
    """Which run."""

    session: Id
    run_id: Id


class SteerAsks(RunActionAsks):
    """What a run is told."""

    text: Note


class AnswerAsks(RunActionAsks):
    """The answer to a run's question."""

    answer: Note


class SaveSettingsAsks(BodyAsks):
    """Settings by dotted key; those left out stay."""

    values: Annotated[dict[str, JsonValue], Field(max_length=200)]
    revision: Said | None = None
    """As it was shown; left out or null: whatever stands there now is changed."""


class SaveStaticAgentsAsks(BodyAsks):
    """All static agents of the configuration, in their order."""

    items: Annotated[list[Entry], Field(max_length=200)]
    revision: Said | None = None
    """As it was shown; left out or null: whatever stands there now is replaced."""
