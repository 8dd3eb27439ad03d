"""The port: what the core needs from the platform, as Protocols per consumer.

AstrBot stands behind it in production (`plugin/`), a fake in unit tests (`testing.py`); both
are held by the same contract tests. The core never imports the platform.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Protocol

from .fork_context import ForkContext
from .models import (
    AgentName,
    Artifact,
    Asker,
    Failure,
    MessageBody,
    Origin,
    OwnerId,
    Persona,
    RunId,
    SessionId,
    Turn,
    Usage,
)
from .tool_filter import NO_FILTER, ToolFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolScope:
    """Which tools a child may have; the host resolves it when the run starts.

    Deny wins over everything, and nothing is given that the asker may not use.
    """

    assigned: tuple[str, ...] | None = ()
    """Names; `("*",)` is all that the asker may use; None is all, as for the host's own agents."""
    inherent: tuple[str, ...] = ()
    denied: frozenset[str] = frozenset()
    beyond_turn: bool = False
    """True: tools that the main agent itself was not given count too; static agents only."""
    reads_skills: bool = False
    """True: it is told of skills, so the host's tool that reads their files is inherent too."""
    filter: ToolFilter = NO_FILTER
    """What it lets through is listed and may be called; a fork's list stays whole, and the calls
    are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildToolReply:
    """What one of the core's own tools answers a child."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTool:
    """A tool of the core's own that a child has beside the host's."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of an object."""
    read_only: bool = False
    """True: calling it again does no harm, so the journal need not know that it began."""
    call: Callable[[Mapping[str, Any]], Awaitable[ChildToolReply]]
    """Takes the arguments as the model gave them; never raises but `CancelledError`. It may take
    longer than the host's own time limit for tools, which does not count for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """All that one child needs, ready to be driven by the host."""

    run_id: RunId
    session: SessionId
    agent: AgentName | None
    system_prompt: str
    history: Sequence[MessageBody] = ()
    """Earlier messages of the conversation, without system messages."""
    prompt: str
    """The task: the user turn that is kept."""
    notes: tuple[str, ...] = ()
    """Temporary parts of the user turn, which are never kept."""
    resume: Sequence[MessageBody] = ()
    """What this run had recorded when it is taken up again, its user turn first."""
    image_urls: tuple[str, ...] = ()
    fork: ForkContext | None = None
    """Set for a fork: its messages stand before the task, its tools are the list that is sent,
    and its model is used; `system_prompt`, `history` and `provider_id` are empty then."""
    tools: ToolScope = ToolScope()
    own_tools: tuple[ChildTool, ...] = ()
    """They come on top of the host's tools and take the place of one of the same name."""
    provider_id: str = ""
    """A chat provider's id; "" is the session's own."""
    origin: Origin
    member_rights: bool = False
    """True when the agent's owner or the asker is not an admin: the child is a plain member."""
    turn: Turn | None = None
    """The turn that asked, while it lives; None after a restart."""
    away: bool = False
    """Whether its chat belongs to another process, and cannot be reached from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What the host resolved at the start of a run."""

    provider_id: str
    model: str
    tools: tuple[str, ...]
    """Names of the tools the child is offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallPlan:
    """What the next model call of a child is to be like."""

    instruction: str = ""
    """Not empty: a user message that is kept stands before the call; the host tells it as added."""
    with_tools: bool = True
    """False: tools are withheld from this call; later ones may have them again."""
    notes: tuple[str, ...] = ()
    """New temporary messages, appended at the end; what was sent before is not rewritten."""
    final_instruction: str = ""
    """Not empty: tools are withheld, this is the last user message, the answer ends the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One answer of a child's model."""

    text: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call that is about to run."""

    call_id: str
    name: str
    arguments: str
    """JSON text."""
    read_only: bool = False
    """True only for tools known to read; others get an intent row before they run."""
    limited: bool = True
    """True when the host ends the call by a time limit of its own: the idle clock stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How a tool call ended."""

    call_id: str
    name: str
    output: str
    is_error: bool = False
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """How the host's loop over a child ended by itself."""

    text: str = ""
    failure: Failure | None = None
    """None: the child answered."""


class RunObserver(Protocol):
    """What the host tells the core while it drives a child, in the order in which it happens.

    Each method may raise to end the run; the host lets such an exception through unchanged.
    """

    async def started(self, started: Started) -> None:
        """The child is about to make its first model call."""
        ...

    async def before_model_call(self) -> ModelCallPlan:
        """Asked before every model call; the reply shapes it."""
        ...

    async def model_replied(self, reply: ModelReply) -> None:
        """The model answered; its tool calls, if any, come next."""
        ...

    async def tool_started(self, call: ToolCall) -> None:
        """A tool call is about to run."""
        ...

    async def tool_finished(self, result: ToolResult) -> None:
        """A tool call ended, well or not."""
        ...

    async def answered(self, text: str) -> bool:
        """The child answered without a tool call; asked after the answer's messages were told.

        Not asked after a final instruction.

        Returns:
            False: that was its end. True: it goes on, with a next model call.
        """
        ...

    async def messages_added(self, messages: Sequence[MessageBody]) -> None:
        """The step is complete; these messages belong to the conversation, temporary ones not.

        Before the first model call it is told the user turn alone.
        """
        ...


class AgentDriver(Protocol):
    """Drives one child from its first model call to its end."""

    async def until_up(self) -> None:
        """Return once the host has started; before, it lacks models, tools and personas.

        Whatever a run needs is looked up after this.
        """
        ...

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        """Run the child's loop.

        Cancelling the call stops the child at once: its model call and its tool too.

        Returns:
            The child's answer, or why there is none. A provider that fails is an outcome, not
            an exception.
        """
        ...


class Catalog(Protocol):
    """What exists on the platform, for checks at the edge."""

    def tool_names(self, turn: Turn | None) -> frozenset[str]:
        """Names of the tools that the asker of the turn may use."""
        ...

    def skill_names(self, turn: Turn | None) -> frozenset[str]:
        """Names of the active skills."""
        ...

    def provider_ids(self) -> frozenset[str]:
        """Ids of the chat providers."""
        ...

    def is_admin(self, session: SessionId, owner: OwnerId) -> bool:
        """Whether this chat user is an admin of the bot now."""
        ...

    async def admit_images(self, refs: Sequence[str], turn: Turn) -> tuple[str, ...]:
        """Check image references that a model named, before anything is started.

        Returns:
            References that the driver may read, without doubles.

        Raises:
            InvalidArgument: One of them may not be read, or is no image.
        """
        ...

    def lacks(self, session: SessionId, origin: Origin) -> tuple[str, ...]:
        """What a chat of another process had when a run was asked for and is not here, by name."""
        ...

    def persona(self, session: SessionId, persona_id: str) -> Persona | None:
        """A persona as it is now; None when it does not exist."""
        ...

    def skills_prompt(self, session: SessionId, names: tuple[str, ...] | None) -> str:
        """What a child must know to use these skills; None is all active ones.

        Returns:
            Ready text for a system prompt, "" when there is none.
        """
        ...

    def time_zone(self, session: SessionId) -> tzinfo:
        """The time zone of the bot."""
        ...


class Clock(Protocol):
    """Time and ids, so that tests own both."""

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once when `monotonic()` has reached this value.

        Returns:
            A function that takes the call back; it does nothing after the call was made.
        """
        ...

    def new_id(self) -> str:
        """A short unique id of letters and digits."""
        ...


class Host(AgentDriver, Catalog, Protocol):
    """The whole platform."""


__all__ = [
    "AgentDriver",
    "AgentOutcome",
    "AgentRequest",
    "Asker",
    "Catalog",
    "ChildTool",
    "ChildToolReply",
    "Clock",
    "Host",
    "ModelCallPlan",
    "ModelReply",
    "RunObserver",
    "Started",
    "ToolCall",
    "ToolResult",
    "ToolScope",
]
