"""The core's data: frozen records that say what is, and do nothing.

They are built by the core, read by everyone, and changed only by making a new record.
Times are aware UTC datetimes; ids are NewTypes over `str`. Rows in the store and texts
for the model are made elsewhere (`store/codec.py`, `subagent_tools/replies.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from .origin import Origin as Origin
from .task_shape import TaskShape

SessionId = NewType("SessionId", str)
AgentName = NewType("AgentName", str)
RunId = NewType("RunId", str)
OwnerId = NewType("OwnerId", str)
ConversationId = NewType("ConversationId", str)
GroupId = NewType("GroupId", str)

type MessageBody = Mapping[str, Any]
"""One message in the OpenAI shape: `role`, `content`, `tool_calls`, `tool_call_id`."""

BOT = OwnerId("")
"""The owner of static agents: the bot itself."""


class AgentKind(StrEnum):
    """Where an agent comes from."""

    STATIC = "static"
    DYNAMIC = "dynamic"


class RunKind(StrEnum):
    """What kind of work a run is."""

    DELEGATE = "delegate"
    FORK = "fork"
    TASK = "task"


class RunState(StrEnum):
    """Where a run stands; `runs/state.py` holds the allowed transitions."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class StopReason(StrEnum):
    """Why a run is being stopped from outside."""

    USER = "user"
    MAIN_AGENT = "main_agent"
    TURN = "turn"
    TIMEOUT = "timeout"
    IDLE = "idle"
    BUDGET = "budget"
    PLUGIN_OFF = "plugin_off"
    SHUTDOWN = "shutdown"


class DeliveryState(StrEnum):
    """Where a result stands on its way to the main agent or the user."""

    PENDING = "pending"
    CLAIMED = "claimed"
    HANDED = "handed"
    ACKNOWLEDGED = "acknowledged"
    CLOSED = "closed"


ON_THE_WAY = (DeliveryState.PENDING, DeliveryState.CLAIMED, DeliveryState.HANDED)
"""States of a result that has not reached its owner for good."""


class TurnEnd(StrEnum):
    """How a turn of the main agent ended, or ended for us."""

    ANSWERED = "answered"
    """The main agent came to its end: it has read all that it was handed."""
    STOPPED = "stopped"
    """Its user cut it off: the host keeps what was said in it until then."""
    LOST = "lost"
    """There is no answer, and the host keeps nothing of the turn."""
    LEFT = "left"
    """It goes on, but without us: we are being reloaded or stopped."""


class StepState(StrEnum):
    """Whether the outcome of a step is known."""

    INTENT = "intent"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The chat user in whose turn something is asked for."""

    owner: OwnerId
    is_admin: bool = False
    """Looked up by the host for each turn, never stored."""
    is_alone: bool = False
    """Whether nobody else is in the chat with the bot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentConfig:
    """A named specialist."""

    name: AgentName
    system_prompt: str
    description: str = ""
    tools: tuple[str, ...] | None = ()
    """Tool names; `("*",)` is all that the asker may use; None is all, for static agents only."""
    skills: tuple[str, ...] | None = ()
    """Skill names; None is all active skills, for static agents only."""
    workdir: str = ""
    """Absolute folder; "" is the session's own folder for this agent."""
    provider_id: str = ""
    """Chat provider; "" is the configured default, else the session's own."""
    persona_id: str = ""
    """A persona of the bot looked up when a run starts; static agents only."""
    personas: tuple[str, ...] = ()
    """Personas of the bot that may use it, empty is all; static agents only, never stored."""
    kind: AgentKind = AgentKind.DYNAMIC
    protected: bool = False
    owner: OwnerId = BOT
    conversation: ConversationId
    """The one conversation that is this agent's memory; a new one is an empty memory."""
    member_memory: bool = False
    """True once a run with member rights wrote to the memory; a reset clears it."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or several model calls."""

    input: int = 0
    """Tokens sent that were not read from the provider's cache."""
    cached: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All tokens, cached ones included."""
        return self.input + self.cached + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """How often one tool was called in a run."""

    name: str
    calls: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file or image that a child's tool made."""

    kind: str
    """`image` or `file`."""
    path: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run did not complete."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One task given to a sub-agent or to a fork, as it stands."""

    run_id: RunId
    session: SessionId
    agent: AgentName | None
    conversation: ConversationId
    kind: RunKind = RunKind.DELEGATE
    parent: RunId | None = None
    """The run that this one does once more: the first one, also when a repeat is repeated."""
    group_id: GroupId | None = None
    depends_on: tuple[RunId, ...] = ()
    """Runs that must be completed before it starts: of its group, or what repeats them."""
    task: TaskShape | None = None
    """Set for runs of the `task` tool."""
    background: bool = False
    state: RunState = RunState.QUEUED
    input: str
    image_urls: tuple[str, ...] = ()
    owner: OwnerId
    origin: Origin = field(default_factory=Origin)
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    model: str = ""
    """The model that answers the child, as the host names it."""
    steps: int = 0
    """Model calls made."""
    usage: Usage = Usage()
    tools_given: int = 0
    """How many tools the child was offered."""
    tools_used: tuple[ToolUse, ...] = ()
    last_text: str = ""
    """The newest words of the child; the result once the run is completed."""
    artifacts: tuple[Artifact, ...] = ()
    question: str = ""
    cut_short: str = ""
    """The code of a limit that made a completed child answer before it was done; else ""."""
    failure: Failure | None = None
    executor: str = ""
    """Which process executes the run."""
    fence: int = 0
    """How often the run was taken by an executor."""

    @property
    def is_over(self) -> bool:
        """Whether the run has reached a state that it never leaves."""
        return self.state in TERMINAL


TERMINAL = frozenset(
    {
        RunState.COMPLETED,
        RunState.FAILED,
        RunState.TIMED_OUT,
        RunState.CANCELLED,
        RunState.INTERRUPTED,
    }
)


UNFINISHED = frozenset(RunState) - TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """One tool call of a run, as the journal knows it."""

    run_id: RunId
    key: str
    """Unique in its run: made from the model call's number and the tool call's id."""
    name: str
    arguments: str = ""
    """JSON text."""
    state: StepState = StepState.DONE
    output: str = ""
    is_error: bool = False
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One message of a conversation."""

    conversation: ConversationId
    seq: int
    """From 1, without gaps."""
    run_id: RunId
    body: MessageBody
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A run's result on its way. Those of a group go to a turn together, when all are there."""

    delivery_id: str
    """The run's id."""
    session: SessionId
    owner: OwnerId
    state: DeliveryState = DeliveryState.PENDING
    taker: str = ""
    """Who claimed it: a turn's id."""
    lease_until: datetime | None = None
    attempts: int = 0
    created_at: datetime


def delivery_of(run: Run, at: datetime) -> Delivery:
    """The result of a run that ends now, on its way to the run's owner."""
    return Delivery(delivery_id=run.run_id, session=run.session, owner=run.owner, created_at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """A persona of the bot, as it is now."""

    instructions: str
    dialogue: tuple[MessageBody, ...] = ()
    """Messages that stand before the task."""
    tools: tuple[str, ...] | None = None
    """None is all, as on the platform."""
    skills: tuple[str, ...] | None = None
    """None is all active ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEntry:
    """One note on a session's board."""

    seq: int
    kind: str
    """`status`, `message` or `system`."""
    sender: str
    owner: OwnerId
    target: str = "all"
    content: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What is kept of a session itself."""

    session: SessionId
    memory_enabled: bool | None = None
    """The session's own switch; None follows the settings."""
    board_enabled: bool | None = None
    created_at: datetime
    last_active_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """An agent and what it is doing now, derived from its runs."""

    config: SubAgentConfig
    running: tuple[Run, ...] = ()
    queued: tuple[Run, ...] = ()
    memory_messages: int = 0


@dataclass(slots=True, kw_only=True)
class Turn:
    """One user message and all that the main agent does until its answer.

    The only mutable record: the host opens it, the core counts in it, both forget it at its end.
    """

    turn_id: str
    session: SessionId
    asker: Asker
    origin: Origin = field(default_factory=Origin)
    handle: object | None = None
    """The host's own object for the turn; the core only hands it back to the host."""
    message: str = ""
    """The user's words that began it."""
    starts: int = 0
    """Runs started in this turn."""
    children: set[RunId] = field(default_factory=set)
    """Foreground runs that a tool call of this turn still waits for."""
    keeps_children: bool = False
    """Its user has gone on to something else: if it is cut off, its children work on."""
