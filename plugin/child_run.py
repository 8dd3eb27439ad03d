"""One child at work: AstrBot's runner stepped to its end, and everything told to the core.

The observer is called from here only, never from a hook, so that what it raises ends the run.
`driver.py` makes the run and stops it; tools and messages are prepared elsewhere.
"""

import asyncio
import json
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.core.agent.message import Message

from ..manager.host import (
    AgentOutcome,
    AgentRequest,
    ModelReply,
    RunObserver,
    Started,
    ToolCall,
    ToolResult,
)
from ..manager.models import Failure, Usage
from ..manager.store.texts import clean
from .child_calls import ChildCalls, OpenCall
from .child_context import ChildContext
from .child_messages import kept_bodies, refusal_text, settle, tool_calls, user_turn_body
from .child_provider import ChildProvider, had_no_output, provider_failure
from .child_tools import ResolvedTools

_GRACE_SECONDS = 0.05
"""What AstrBot gets to end a step by itself; it can end a tool better than a cancellation does."""
_CANCEL_SECONDS = 0.5
_CANCEL_TRIES = 10

_NO_WORDS = "it ended without any words"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildParts:
    """What a run works with, made for it alone."""

    request: AgentRequest
    provider: ChildProvider
    tools: ResolvedTools
    event: AstrMessageEvent
    runner: Any
    """AstrBot's `ToolLoopAgentRunner`, reset for this child."""
    calls: ChildCalls
    context: ChildContext


@dataclass(slots=True, kw_only=True)
class _Step:
    """What has come of one model call."""

    used_before: Any
    """The runner's count of tokens before it."""
    text: str = ""
    answered: bool = False
    replied: bool = False
    """The answer was told to the core."""
    failed: bool = False
    aborted: bool = False
    call_ids: list[str] = field(default_factory=list)
    """Of the tool calls that were told to the core."""


class ChildRun:
    """Steps one child."""

    def __init__(self, parts: ChildParts, observer: RunObserver) -> None:
        self._parts = parts
        self._observer = observer
        self._runner = parts.runner
        self._stopping = False

    async def work(self) -> AgentOutcome:
        """Carry the child to its end."""
        parts, observer = self._parts, self._observer
        await observer.started(
            Started(
                provider_id=parts.provider.provider_id,
                model=parts.provider.model,
                tools=parts.tools.names if parts.provider.takes_tools else (),
            )
        )
        tools = self._runner.req.func_tool
        notes: tuple[str, ...] = ()
        if parts.request.resume:
            notes = parts.request.notes
        else:
            await observer.messages_added([user_turn_body(parts.request)])
        while True:
            plan = await observer.before_model_call()
            last = plan.final_instruction
            if plan.instruction:
                await self._instruct(plan.instruction)
            parts.context.announce([*notes, *plan.notes, *((last,) if last else ())])
            self._runner.req.func_tool = tools if plan.with_tools and not last else None
            step = await self._step()
            outcome = self._outcome(step, is_last=bool(last))
            if outcome is not None and not await self._goes_on(outcome, is_last=bool(last)):
                return outcome
            notes = ()

    async def _instruct(self, instruction: str) -> None:
        """Tell the child what comes next, in a message that is kept."""
        body = {"role": "user", "content": clean(instruction)}
        self._runner.run_context.messages.append(Message.model_validate(body))
        await self._observer.messages_added([body])

    async def _goes_on(self, outcome: AgentOutcome, *, is_last: bool) -> bool:
        """Whether the child is to work on after an answer; AstrBot's runner can be stepped on."""
        if is_last or self._stopping or outcome.failure is not None:
            return False
        return await self._observer.answered(outcome.text)

    async def stop(self, task: asyncio.Task[AgentOutcome]) -> None:
        """End the task that does the work, its model call and its tool too; nothing more is told.

        AstrBot 4.26 cannot leave a model call by itself, and leaves its tool running when it is
        only cancelled; asked first and cancelled then, both versions end at once.
        """
        self._stopping = True
        self._runner.request_stop()
        # a second cancellation changes nothing: the driver raises the first one in the end
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task}, timeout=_GRACE_SECONDS)
        await _end(task)

    async def _step(self) -> _Step:
        """Have AstrBot make one model call and run the tools that it asks for."""
        step = _Step(used_before=self._runner.stats.token_usage)
        async with aclosing(self._runner.step()) as responses:
            async for response in responses:
                if self._stopping:
                    return step
                await self._take(response.type, response.data["chain"], step)
                if self._parts.event.is_stopped():
                    self._runner.request_stop()
        if not self._stopping:
            await self._tell_rest(step)
        return step

    async def _take(self, kind: str, chain: Any, step: _Step) -> None:
        match kind:
            case "llm_result" | "agent_stats":
                step.answered = True
                if kind == "llm_result" and chain.type != "reasoning":
                    step.text = chain.get_plain_text()
            case "tool_call":
                step.answered = True
                await self._tell_reply(step)
                data = chain.chain[0].data
                await self._open_call(str(data["id"]), str(data["name"]), data["args"], step)
            case "tool_call_result":
                await self._close_call(str(chain.chain[0].data["result"]))
            case "err":
                step.failed = True
            case "aborted":
                step.aborted = True

    async def _tell_rest(self, step: _Step) -> None:
        """Tell what a step that has ended brought, except what was told while it went on."""
        if step.answered and not step.failed:
            await self._tell_reply(step)
        await self._close_call()
        if step.failed or step.aborted:
            return
        messages, begin = self._runner.run_context.messages, self._parts.context.begin
        added = messages[begin:]
        for call in tool_calls(added)[len(step.call_ids) :]:
            await self._open_call(call.id, call.function.name, call.function.arguments, step)
            await self._close_call()
        messages[begin:] = settled = settle(added)
        if bodies := kept_bodies(settled):
            await self._observer.messages_added(bodies)

    async def _tell_reply(self, step: _Step) -> None:
        if step.replied:
            return
        step.replied = True
        used = self._runner.stats.token_usage - step.used_before
        self._parts.context.used(used.input)
        usage = Usage(input=used.input_other, cached=used.input_cached, output=used.output)
        await self._observer.model_replied(ModelReply(text=step.text, usage=usage))

    async def _open_call(self, call_id: str, name: str, arguments: object, step: _Step) -> None:
        await self._close_call()
        # some providers use a tool's name as the id of each of its calls
        again = step.call_ids.count(call_id)
        step.call_ids.append(call_id)
        unique = f"{call_id}#{again + 1}" if again else call_id
        self._parts.calls.open = OpenCall(call_id=unique, name=name)
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False, default=str)
        read_only = name in self._parts.tools.read_only
        await self._observer.tool_started(
            ToolCall(call_id=unique, name=name, arguments=arguments, read_only=read_only)
        )

    async def _close_call(self, output: str | None = None) -> None:
        """Tell how the open call ended, if there is one; without an output it was not run."""
        call, self._parts.calls.open = self._parts.calls.open, None
        if call is None:
            return
        await self._observer.tool_finished(
            ToolResult(
                call_id=call.call_id,
                name=call.name,
                output=refusal_text(call.name) if output is None else output,
                is_error=output is None or not call.ended_well,
                artifacts=tuple(call.artifacts),
            )
        )

    def _outcome(self, step: _Step, *, is_last: bool) -> AgentOutcome | None:
        """How the child ended; None: it has not."""
        if self._stopping:
            return AgentOutcome()
        if step.failed:
            final = self._runner.get_final_llm_resp()
            words = final.completion_text if final is not None else ""
            if is_last and had_no_output(words):
                return AgentOutcome(failure=_no_answer_left())
            return self._failed(words)
        if step.aborted or (self._parts.event.is_stopped() and not self._runner.done()):
            return AgentOutcome(failure=_stopped_by_plugin(step))
        if not step.answered:
            return self._failed("it gave no answer")
        if not is_last and not self._runner.done():
            return None
        return AgentOutcome(text=step.text) if step.text.strip() else self._failed(_NO_WORDS)

    def _failed(self, words: str) -> AgentOutcome:
        used, child = self._runner.provider, self._parts.provider
        return AgentOutcome(failure=provider_failure(used, child, words))


def _no_answer_left() -> Failure:
    """AstrBot calls it a failed provider when a model asks for tools that it no longer has."""
    message = "It still called tools when its last answer was due (setting `max_steps`)."
    return Failure(code="step_limit", message=message)


def _stopped_by_plugin(step: _Step) -> Failure:
    last = f" at its tool call {step.call_ids[-1]}" if step.call_ids else ""
    return Failure(
        code="stopped_by_plugin",
        message=f"A plugin of the bot, or the tool itself, stopped the sub-agent{last}.",
    )


async def _end(task: asyncio.Task[AgentOutcome]) -> None:
    for _ in range(_CANCEL_TRIES):
        if task.done():
            break
        # again and again: AstrBot swallows a cancellation that comes in another plugin's hook
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task}, timeout=_CANCEL_SECONDS)
    if not task.done():
        logger.error("%s could not be stopped: its tool does not let go.", task.get_name())
    elif not task.cancelled():
        # looked at, so that asyncio does not report it as lost
        task.exception()
