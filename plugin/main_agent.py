"""The main agent of a turn while it works: when it asks its model, and whether it was cut off.

AstrBot has no hook for a single model request (`on_llm_request` comes once in a turn), so the
agent's runner is found where AstrBot keeps it for follow-up messages. That is private to AstrBot:
this is the only place that looks there. Where it is not found, a turn's answer is the only sign
that results were read, so those of a turn that was cut off come once more.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from astrbot.api import FunctionTool, logger
from astrbot.core.agent.message import Message
from astrbot.core.agent.runners.tool_loop_agent_runner import ToolLoopAgentRunner

from .child_messages import note
from .child_provider import provider_id

_KEEPER = "astrbot.core.pipeline.process_stage.follow_up"
_RUNNERS = "_ACTIVE_AGENT_RUNNERS"
"""AstrBot's runners at work, by chat; core/pipeline/process_stage/follow_up.py."""


class MainAgent:
    """One main agent at work."""

    def __init__(self, runner: ToolLoopAgentRunner[Any]) -> None:
        self._runner = runner
        self.tools_sent: tuple[FunctionTool, ...] = ()
        """The tools of its newest model request, in their order, whole even where AstrBot sent them
        in short; its tool set may have changed since."""

    @property
    def provider_id(self) -> str:
        """AstrBot's id of the chat model that it asks now."""
        return provider_id(self._runner.provider)

    def works_in(self, run_context: object) -> bool:
        """Whether this is the agent of that run context."""
        return bool(self._runner.run_context is run_context)

    def request_stop(self) -> None:
        """Cut it off, as AstrBot does at /stop."""
        self._runner.request_stop()

    def was_aborted(self) -> bool:
        """Whether it was cut off at work."""
        return bool(self._runner.was_aborted())

    def has_failed(self) -> bool:
        """Whether its model failed in the end."""
        last = self._runner.get_final_llm_resp()
        return last is not None and last.role == "err"

    def ended_without_answer(self) -> bool:
        """Whether it ended with a tool that answers the user itself, and so with no last words."""
        return bool(self._runner.done()) and self._runner.get_final_llm_resp() is None

    def before_each_request(self, ask: Callable[[bool], Awaitable[str]]) -> None:
        """Ask for what each model request is to carry at its end, in whatever way it is sent.

        Args:
            ask: Told whether AstrBot has just compressed the messages; gives a text, or "". It is
                not kept in the conversation.
        """
        # AstrBot lets this work on the messages right before each request, with tools in full or
        # in short, streaming or not; core/agent/runners/tool_loop_agent_runner.py:step.
        messages = self._runner.request_context_manager
        process = messages.process

        async def with_news(before: list[Message], *arguments: Any, **named: Any) -> Any:
            ready = await process(before, *arguments, **named)
            if news := await ask(ready is not before):
                ready.append(note(news))
            self.tools_sent = self._tools()
            return ready

        setattr(messages, "process", with_news)  # noqa: B010 - mypy takes no method for a variable

    def _tools(self) -> tuple[FunctionTool, ...]:
        tools = tuple(self._runner.req.func_tool or ())
        # in the schema mode `skills_like` those are reduced copies of what stands here
        whole = getattr(self._runner, "_skill_like_raw_tool_set", None)
        if whole is None:
            return tools
        return tuple(whole.get_tool(tool.name) or tool for tool in tools)


class MainAgents:
    """Finds the main agents of turns."""

    def __init__(self) -> None:
        self._warned = False

    def find(self, chat: str, run_context: object) -> MainAgent | None:
        """Find the main agent of a run context.

        Args:
            chat: The `unified_msg_origin`.
            run_context: As AstrBot's hook `on_agent_begin` is given it.

        Returns:
            None for another agent that works in the turn, and where AstrBot is made otherwise.
        """
        runners = vars(sys.modules.get(_KEEPER, sys)).get(_RUNNERS)
        if not isinstance(runners, dict):
            self._warn()
            return None
        runner = runners.get(chat)
        if not isinstance(runner, ToolLoopAgentRunner) or runner.run_context is not run_context:
            return None
        if not hasattr(getattr(runner, "request_context_manager", None), "process"):
            self._warn()
            return None
        return MainAgent(runner)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "This AstrBot does not show its agents at work: results that were read in a turn "
                "which is then cut off are handed over once more."
            )
