"""Public doubles: a host that plays scripted children, a clock that tests own, and builders.

They stand next to the port so that they change with it; `tests/contract` holds the fake host and
the real one to the same stories. The fake messenger is in `testing_messenger.py`.
"""

import asyncio
import heapq
import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from .errors import InvalidArgument
from .events import EventBus
from .host import (
    AgentOutcome,
    AgentRequest,
    ModelCallPlan,
    ModelReply,
    RunObserver,
    Started,
    ToolCall,
    ToolResult,
)
from .models import Asker, Failure, Origin, OwnerId, Persona, SessionId, Turn, Usage
from .services import Services
from .settings import Settings
from .store.protocol import Store

EPOCH = datetime(2030, 1, 1, 12, tzinfo=UTC)
ONE_CALL = Usage(input=10, output=5)
"""What one scripted model call costs."""


class FakeClock:
    """Time that moves only when a test says so; ids count up."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._ids = itertools.count(1)
        self._order = itertools.count()
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._taken_back: set[int] = set()

    def now(self) -> datetime:
        """See `Clock.now`."""
        return EPOCH + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._seconds

    def new_id(self) -> str:
        """See `Clock.new_id`."""
        return f"id{next(self._ids):06d}"

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        """See `Clock.call_at`."""
        number = next(self._order)
        heapq.heappush(self._calls, (when, number, callback))

        def take_back() -> None:
            self._taken_back.add(number)

        return take_back

    def advance(self, seconds: float) -> None:
        """Let time pass and make the calls that are due, in their order."""
        end = self._seconds + seconds
        while self._calls and self._calls[0][0] <= end:
            when, number, callback = heapq.heappop(self._calls)
            self._seconds = max(self._seconds, when)
            if number not in self._taken_back:
                callback()
        self._seconds = end


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """The child's model answers with text; the run ends."""

    text: str
    usage: Usage = ONE_CALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The child's model calls one tool."""

    tool: str
    arguments: str = "{}"
    output: str = "ok"
    is_error: bool = False
    text: str = ""
    usage: Usage = ONE_CALL
    gate: asyncio.Event | None = None
    """The tool waits for this; None: it ends at once."""
    read_only: bool = False
    limited: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """The child's model call waits for this event."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the model call has begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The child's model cannot answer."""

    code: str = "provider_error"
    message: str = "the model is not there"


type Act = Say | Use | Hang | Fail
type Script = Callable[[AgentRequest], Sequence[Act] | Awaitable[Sequence[Act]]]


def says(*acts: Act) -> Script:
    """A script that is the same for every run."""
    return lambda _: acts


class FakeHost:
    """Plays each child by a script and remembers every request."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        tools: Sequence[str] = ("search", "write"),
        skills: Sequence[str] = (),
        providers: Sequence[str] = ("main",),
        admins: Sequence[str] = (),
    ) -> None:
        self.script = script or says(Say(text="done"))
        self.tools = frozenset(tools)
        self.skills = frozenset(skills)
        self.providers = frozenset(providers)
        self.admins = frozenset(admins)
        self.up = asyncio.Event()
        """Set unless a test has the host still starting."""
        self.up.set()
        self.personas: dict[str, Persona] = {}
        self.requests: list[AgentRequest] = []
        self.notes: list[str] = []
        """Notes of every model call after the first, in their order."""
        self.plans: list[ModelCallPlan] = []
        """What each model call was to be like, in their order."""

    async def until_up(self) -> None:
        """See `AgentDriver.until_up`."""
        await self.up.wait()

    def lacks(self, session: SessionId, origin: Origin) -> tuple[str, ...]:
        """See `Catalog.lacks`."""
        wanted = origin.provider_id
        return (f"the model {wanted}",) if wanted and wanted not in self.providers else ()

    def tool_names(self, turn: Turn | None) -> frozenset[str]:
        """See `Catalog.tool_names`."""
        return self.tools

    def skill_names(self, turn: Turn | None) -> frozenset[str]:
        """See `Catalog.skill_names`."""
        return self.skills

    def provider_ids(self) -> frozenset[str]:
        """See `Catalog.provider_ids`."""
        return self.providers

    def is_admin(self, session: SessionId, owner: OwnerId) -> bool:
        """See `Catalog.is_admin`."""
        return owner in self.admins

    async def admit_images(self, refs: Sequence[str], turn: Turn) -> tuple[str, ...]:
        """See `Catalog.admit_images`; here only `https` is allowed."""
        if bad := [ref for ref in refs if not ref.startswith("https://")]:
            raise InvalidArgument("image_urls", f"may not be read: {', '.join(bad)}")
        return tuple(dict.fromkeys(refs))

    def persona(self, session: SessionId, persona_id: str) -> Persona | None:
        """See `Catalog.persona`."""
        return self.personas.get(persona_id)

    def skills_prompt(self, session: SessionId, names: tuple[str, ...] | None) -> str:
        """See `Catalog.skills_prompt`."""
        wanted = self.skills if names is None else names
        return "# Skills\n" + "\n".join(sorted(wanted)) if wanted else ""

    def time_zone(self, session: SessionId) -> tzinfo:
        """See `Catalog.time_zone`."""
        return UTC

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        """See `AgentDriver.drive`."""
        self.requests.append(request)
        acts = self.script(request)
        if isinstance(acts, Awaitable):
            acts = await acts
        await observer.started(
            Started(provider_id="main", model="fake", tools=self._offered(request))
        )
        if not request.resume:
            await observer.messages_added([{"role": "user", "content": request.prompt}])
        for number, act in enumerate(acts):
            outcome = await self._play(act, number, request, observer)
            if outcome is not None:
                return outcome
        return AgentOutcome(failure=Failure(code="script_ended", message="the script has no end"))

    def _offered(self, request: AgentRequest) -> tuple[str, ...]:
        return tuple(sorted({*self.tools, *(tool.name for tool in request.own_tools)}))

    async def _play(
        self, act: Act, number: int, request: AgentRequest, observer: RunObserver
    ) -> AgentOutcome | None:
        plan = await observer.before_model_call()
        self.plans.append(plan)
        self.notes.extend(plan.notes)
        if plan.instruction:
            await observer.messages_added([{"role": "user", "content": plan.instruction}])
        if isinstance(act, Hang):
            act.reached.set()
            await act.gate.wait()
            await observer.model_replied(ModelReply(text="", usage=ONE_CALL))
            return None
        if isinstance(act, Fail):
            return AgentOutcome(failure=Failure(code=act.code, message=act.message))
        await observer.model_replied(ModelReply(text=act.text, usage=act.usage))
        if isinstance(act, Say):
            await observer.messages_added([{"role": "assistant", "content": act.text}])
            if not plan.final_instruction and await observer.answered(act.text):
                return None
            return AgentOutcome(text=act.text)
        if plan.final_instruction or not plan.with_tools:
            code = "step_limit" if plan.final_instruction else "provider_error"
            return AgentOutcome(failure=Failure(code=code, message="no answer"))
        await self._use(act, f"call{number}", request, observer)
        return None

    async def _use(
        self, act: Use, call_id: str, request: AgentRequest, observer: RunObserver
    ) -> None:
        await observer.tool_started(
            ToolCall(
                call_id=call_id,
                name=act.tool,
                arguments=act.arguments,
                read_only=act.read_only
                or any(tool.read_only for tool in request.own_tools if tool.name == act.tool),
                limited=act.limited,
            )
        )
        if act.gate is not None:
            await act.gate.wait()
        output, is_error = act.output, act.is_error
        for tool in request.own_tools:
            if tool.name == act.tool:
                reply = await tool.call(json.loads(act.arguments))
                output, is_error = reply.text, reply.is_error
        await observer.tool_finished(
            ToolResult(call_id=call_id, name=act.tool, output=output, is_error=is_error)
        )
        function = {"name": act.tool, "arguments": act.arguments}
        call = {"id": call_id, "type": "function", "function": function}
        await observer.messages_added(
            [
                {"role": "assistant", "content": act.text or None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call_id, "content": output},
            ]
        )


def make_turn(
    session: str = "chat", *, owner: str = "alice", is_admin: bool = False, turn_id: str = "turn1"
) -> Turn:
    """A turn of a user."""
    return Turn(
        turn_id=turn_id,
        session=SessionId(session),
        asker=Asker(owner=OwnerId(owner), is_admin=is_admin),
    )


def make_services(
    store: Store,
    files: Path,
    *,
    host: FakeHost | None = None,
    settings: Settings | None = None,
    clock: FakeClock | None = None,
    executor: str = "process1",
) -> Services:
    """The core's surroundings with fakes; `files` is a folder of the test."""
    chosen = settings or Settings()
    return Services(
        host=host or FakeHost(),
        store=store,
        clock=clock or FakeClock(),
        bus=EventBus(),
        settings=lambda: chosen,
        executor=executor,
        files=files,
    )
