"""The host adapter's lower half: drives one child with AstrBot's own agent runner.

It looks up what the child runs with, makes fresh objects for it, and watches over the task that
steps it. What happens in a step is told in `child_run`, what a child may call in `child_tools`.
"""

import asyncio
from typing import Any

from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Context
from astrbot.core.agent.message import Message
from astrbot.core.agent.runners.tool_loop_agent_runner import ToolLoopAgentRunner
from astrbot.core.astr_agent_context import AgentContextWrapper, AstrAgentContext
from astrbot.core.utils.astrbot_path import get_astrbot_system_tmp_path

from ..manager.host import AgentOutcome, AgentRequest, RunObserver
from ..manager.models import Failure
from ..manager.store.texts import clean
from .child_calls import ChildCalls, Permissions
from .child_context import ChildContext
from .child_event import make_child_event
from .child_messages import opening_messages
from .child_provider import (
    ChildProvider,
    ProvidersOfChats,
    context_window,
    find_compressor,
    find_provider,
)
from .child_run import ChildParts, ChildRun
from .child_texts import LONGEST_RESULT
from .child_tools import ChildTools, ResolvedTools
from .fork_tools import RefusedTool
from .host_settings import AgentSettings, read_agent_settings
from .shared_answers import SharedAnswers

_READ_TOOL = "astrbot_file_read_tool"


class AstrBotDriver:
    """Drives children; see `AgentDriver`."""

    def __init__(self, context: Context, tools: ChildTools) -> None:
        self._context = context
        self._tools = tools
        self._permissions: Permissions = SharedAnswers()
        self._of_chats: ProvidersOfChats = SharedAnswers()

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        """See `AgentDriver.drive`."""
        config = self._context.get_config(umo=request.session)
        settings = read_agent_settings(config)
        provider = await find_provider(request, self._context, settings, of_chats=self._of_chats)
        if isinstance(provider, Failure):
            return AgentOutcome(failure=provider)
        event = make_child_event(request, self._context, config)
        try:
            parts = await self._parts(request, event, provider, settings)
            return await _watch(ChildRun(parts, observer), name=f"sub-agent {request.run_id}")
        finally:
            # not by the event's own method, which some events use to tell the end of their turn
            AstrMessageEvent.cleanup_temporary_local_files(event)

    async def _parts(
        self,
        request: AgentRequest,
        event: AstrMessageEvent,
        provider: ChildProvider,
        settings: AgentSettings,
    ) -> ChildParts:
        tools = self._tools.resolve(request)
        model_request = await _model_request(request, tools, provider)
        event.set_extra("provider_request", model_request)
        runner: Any = ToolLoopAgentRunner()
        overflow = _long_results(tools)
        calls = ChildCalls(
            request.run_id,
            runner,
            longest=None if overflow else LONGEST_RESULT,
            refuse=tools.refuse,
            permissions=self._permissions,
        )
        await runner.reset(
            request=model_request,
            run_context=self._run_context(event, settings),
            tool_executor=calls,
            agent_hooks=calls,
            **_sending(request, settings) | overflow,
            **_model(provider, self._context, settings),
        )
        runner.request_context_manager_config.max_context_tokens = context_window(
            provider, settings
        )
        context = runner.request_context_manager = _context(request, runner)
        return ChildParts(
            request=request,
            provider=provider,
            tools=tools,
            event=event,
            runner=runner,
            calls=calls,
            context=context,
        )

    def _run_context(self, event: AstrMessageEvent, settings: AgentSettings) -> AgentContextWrapper:
        return AgentContextWrapper(
            context=AstrAgentContext(context=self._context, event=event),
            tool_call_timeout=settings.tool_call_timeout,
        )


async def _model_request(
    request: AgentRequest, tools: ResolvedTools, provider: ChildProvider
) -> ProviderRequest:
    return ProviderRequest(
        contexts=await opening_messages(request),
        system_prompt=clean(request.system_prompt),
        func_tool=tools.tool_set,
        model=provider.override,
    )


def _sending(request: AgentRequest, settings: AgentSettings) -> dict[str, Any]:
    if request.fork is None:
        return {"tool_schema_mode": "full", "enforce_max_turns": settings.max_turns}
    return {
        # a fork's list of tools is to be what its main agent's is on the wire
        "tool_schema_mode": settings.tool_schema_mode,
        # what it begins with was cut already; its own task would have a turn cut off again
        "enforce_max_turns": -1,
    }


def _context(request: AgentRequest, runner: Any) -> ChildContext:
    return ChildContext(
        runner.request_context_manager,
        _task(request, runner),
        # one that is taken up again has grown by nobody knows how much since
        begins_whole=request.fork is not None and not request.resume,
    )


def _task(request: AgentRequest, runner: Any) -> Message:
    """The child's own user turn among its messages."""
    if request.fork is not None:
        return runner.run_context.messages[len(request.fork.messages)]
    return runner.run_context.messages[len(request.history) + bool(request.system_prompt)]


async def _watch(run: ChildRun, *, name: str) -> AgentOutcome:
    """Let the child work in a task of its own, so that a cancellation can stop it in order."""
    task = asyncio.create_task(run.work(), name=name)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await run.stop(task)
        raise
    return task.result()


def _model(provider: ChildProvider, context: Context, settings: AgentSettings) -> dict[str, Any]:
    return {
        "provider": provider.provider,
        "streaming": False,
        "fallback_providers": list(provider.fallbacks),
        "request_max_retries": settings.request_max_retries,
        "truncate_turns": settings.trim_turns,
        "llm_compress_instruction": settings.compress_instruction,
        "llm_compress_keep_recent_ratio": settings.keep_recent_ratio,
        "llm_compress_provider": find_compressor(provider, context, settings),
    }


def _long_results(tools: ResolvedTools) -> dict[str, Any]:
    """As AstrBot does: what is too long for the model goes into a file, if it can read files."""
    read_tool = tools.tool_set.get_tool(_READ_TOOL)
    if read_tool is None or isinstance(read_tool, RefusedTool):
        return {}
    return {"read_tool": read_tool, "tool_result_overflow_dir": get_astrbot_system_tmp_path()}
