"""The recorder: what a child does goes through here into the journal, as it happens.

It is the `RunObserver` of one run: it keeps the run's newest record, writes rows in as few
transactions as safety allows, keeps the clocks and budgets, and publishes events.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..errors import StoreUnavailable
from ..events import Event, EventBus, ModelCalled, ToolFinished, ToolStarted
from ..host import Clock, ModelCallPlan, ModelReply, Started, ToolCall, ToolResult
from ..models import (
    Artifact,
    MessageBody,
    Run,
    RunState,
    RunStep,
    StepState,
    StoredMessage,
    ToolUse,
    Usage,
)
from ..store.protocol import RunWrite, Store
from .budget import FINAL_INSTRUCTION, Budget
from .clocks import RunClocks
from .phases import Phases
from .state import advance

logger = logging.getLogger(__name__)

UNKNOWN_TOOLS = "unknown tools"
"""Under this all calls of tools are counted that the child does not have: their names are its own
words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderPorts:
    """What a recorder writes to and asks."""

    store: Store
    clock: Clock
    bus: EventBus
    news: Callable[[], Awaitable[tuple[str, ...]]]
    """New notes for the child since the last call: the board."""
    steering: Callable[[], str]
    """What its principal has told the child since the last call; it is kept."""


class RunRecorder:
    """Records one run from its first model call to its end."""

    def __init__(
        self,
        run: Run,
        ports: RecorderPorts,
        *,
        budget: Budget,
        clocks: RunClocks,
        next_seq: int,
        phases: Phases,
    ) -> None:
        self.run = run
        self._ports = ports
        self._budget = budget
        self._clocks = clocks
        self._phases = phases
        self._instruction = ""
        self._next_seq = next_seq
        self._open: dict[str, ToolCall] = {}
        self._steps: list[RunStep] = []
        self._messages: list[StoredMessage] = []
        self._step_had_tools = False
        self._is_behind = False
        self._tools: frozenset[str] | None = None
        self.is_past_telling = False
        """Whether no model call follows in which it could be told anything."""

    async def started(self, started: Started) -> None:
        """See `RunObserver.started`."""
        self._tools = frozenset(started.tools)
        self.run = replace(self.run, tools_given=len(started.tools), model=started.model)

    async def before_model_call(self) -> ModelCallPlan:
        """See `RunObserver.before_model_call`.

        Raises:
            LimitHit: A budget is spent.
        """
        self._budget.check_tokens(self.run, self._now())
        left = self._budget.calls_left(self.run)
        last = left == 1 and not self._phases.only_answers()
        if last and self.run.steps > 0:
            self.run = replace(self.run, cut_short="step_limit")
        self._step_had_tools = False
        self.is_past_telling = left == 1
        self._clocks.opened()
        instruction = "\n\n".join(filter(None, (self._instruction, self._ports.steering())))
        self._instruction = ""
        note = self._phases.note(left)
        news = await self._ports.news()
        return ModelCallPlan(
            instruction=instruction,
            with_tools=not self._phases.withholds_tools(left),
            notes=(*news, *((note,) if note else ())),
            final_instruction=FINAL_INSTRUCTION if last else "",
        )

    async def answered(self, text: str) -> bool:
        """See `RunObserver.answered`."""
        told = self._ports.steering()
        # what came too late for the answer is followed before the next phase
        self._instruction = told or self._phases.go_on()
        self.is_past_telling = not self._instruction
        return not self.is_past_telling

    async def model_replied(self, reply: ModelReply) -> None:
        """See `RunObserver.model_replied`."""
        self._clocks.closed()
        self._budget.spent(reply.usage, self._now())
        self.run = replace(
            self.run,
            steps=self.run.steps + 1,
            usage=self.run.usage + reply.usage,
            last_text=reply.text or self.run.last_text,
        )
        self._publish_model_call(reply.text, reply.usage)

    async def tool_started(self, call: ToolCall) -> None:
        """See `RunObserver.tool_started`.

        Raises:
            LostRun: Another executor has the run; the tool must not be called.
        """
        self._step_had_tools = True
        self._clocks.opened() if call.limited else self._clocks.touch()
        self._open[call.call_id] = call
        # counted as it begins: a call that is cut off was made all the same
        self.run = replace(self.run, tools_used=self._used(call.name, calls=1))
        if not call.read_only:
            self._steps.append(self._step(call, StepState.INTENT, output="", is_error=False))
            await self._write()
        self._publish(
            ToolStarted(
                session=self.run.session,
                at=self._now(),
                run_id=self.run.run_id,
                name=call.name,
                arguments=call.arguments,
            )
        )

    async def tool_finished(self, result: ToolResult) -> None:
        """See `RunObserver.tool_finished`.

        Raises:
            LimitHit: The same call failed too often in a row.
        """
        if result.call_id not in self._open:
            await self.tool_started(
                ToolCall(
                    call_id=result.call_id,
                    name=result.name,
                    arguments="",
                    read_only=True,
                    limited=False,
                )
            )
        call = self._open.pop(result.call_id)
        self._clocks.closed() if call.limited else self._clocks.touch()
        self._steps.append(
            self._step(call, StepState.DONE, output=result.output, is_error=result.is_error)
        )
        self.run = replace(
            self.run,
            tools_used=self._used(result.name, errors=int(result.is_error)),
            artifacts=_merged(self.run.artifacts, result.artifacts),
        )
        self._publish(
            ToolFinished(
                session=self.run.session,
                at=self._now(),
                run_id=self.run.run_id,
                name=result.name,
                output=result.output,
                is_error=result.is_error,
            )
        )
        self._budget.tool_ended(
            call.name,
            call.arguments,
            counted_as=self._counted_as(call.name),
            is_error=result.is_error,
        )

    async def messages_added(self, messages: Sequence[MessageBody]) -> None:
        """See `RunObserver.messages_added`.

        The user turn and the closing answer wait for the next write: the run itself holds the
        task, and an answer without its run's end would only be asked for again.

        Raises:
            LostRun: Another executor has the run.
        """
        for body in messages:
            self._messages.append(
                StoredMessage(
                    conversation=self.run.conversation,
                    seq=self._next_seq,
                    run_id=self.run.run_id,
                    body=body,
                    at=self._now(),
                )
            )
            self._next_seq += 1
        self._clocks.touch()
        if self._step_had_tools:
            await self._write()

    async def advance(self, state: RunState, *, question: str) -> None:
        """Bring the run into another state, and write it.

        Raises:
            LostRun: Another executor has the run.
        """
        self.run = advance(self.run, state, question=question)
        await self._write()

    def take_unwritten(self) -> tuple[tuple[RunStep, ...], tuple[StoredMessage, ...]]:
        """Steps and messages that the run's last write must carry."""
        steps, messages = tuple(self._steps), tuple(self._messages)
        self._steps.clear()
        self._messages.clear()
        return steps, messages

    async def _write(self) -> None:
        steps, messages = self.take_unwritten()
        try:
            await self._ports.store.write_run(
                RunWrite(run=self.run, steps=steps, messages=messages)
            )
        except BaseException as error:
            # the next write carries the rows again
            self._keep(steps, messages)
            if not isinstance(error, StoreUnavailable):
                raise
            self._tell_refused(error)
        else:
            if self._is_behind:
                logger.info("Run %s is recorded, with all that was missing", self.run.run_id)
            self._is_behind = False

    def _tell_refused(self, error: StoreUnavailable) -> None:
        """Log that the run goes on in memory: at length when that begins, then in a line."""
        if self._is_behind:
            logger.warning("Run %s could still not be recorded: %s", self.run.run_id, error)
            return
        logger.exception("Run %s could not be recorded yet; it goes on in memory", self.run.run_id)
        self._is_behind = True

    def _keep(self, steps: Sequence[RunStep], messages: Sequence[StoredMessage]) -> None:
        self._steps[:0] = steps
        self._messages[:0] = messages

    def _used(self, name: str, *, calls: int = 0, errors: int = 0) -> tuple[ToolUse, ...]:
        """The tools used, with more calls or errors of one; the order is that of first calls."""
        name = self._counted_as(name)
        uses = self.run.tools_used
        if all(use.name != name for use in uses):
            uses = (*uses, ToolUse(name=name))
        return tuple(
            replace(use, calls=use.calls + calls, errors=use.errors + errors)
            if use.name == name
            else use
            for use in uses
        )

    def _counted_as(self, name: str) -> str:
        known = self._tools is None or name in self._tools
        return name if known else UNKNOWN_TOOLS

    def _step(self, call: ToolCall, state: StepState, *, output: str, is_error: bool) -> RunStep:
        return RunStep(
            run_id=self.run.run_id,
            key=f"{self.run.steps}:{call.call_id}",
            name=call.name,
            arguments=call.arguments,
            state=state,
            output=output,
            is_error=is_error,
            at=self._now(),
        )

    def _publish_model_call(self, text: str, usage: Usage) -> None:
        self._publish(
            ModelCalled(
                session=self.run.session,
                at=self._now(),
                run_id=self.run.run_id,
                step=self.run.steps,
                text=text,
                usage=usage,
            )
        )

    def _publish(self, event: Event) -> None:
        self._ports.bus.publish(event)

    def _now(self) -> datetime:
        return self._ports.clock.now()


def _merged(known: tuple[Artifact, ...], new: tuple[Artifact, ...]) -> tuple[Artifact, ...]:
    """Artifacts without doubles, in the order in which they were made."""
    return tuple(dict.fromkeys((*known, *new)))
