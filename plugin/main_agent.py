"""The main agent of a turn while it works: when it asks its model, and whether it was cut off.

AstrBot has no hook for a single model request (`on_llm_request` comes once in a turn), so the
agent's runner is found where AstrBot keeps it for follow-up messages. That is private to AstrBot:
this is the only place that looks there. Where it is not found, a turn's answer is the only sign
that results were read, so those of a turn that was cut off come once more.
"""

import sys
from collections.abc import Callable
from typing import Any

from astrbot.api import logger
from astrbot.core.agent.runners.tool_loop_agent_runner import ToolLoopAgentRunner

_KEEPER = "astrbot.core.pipeline.process_stage.follow_up"
_RUNNERS = "_ACTIVE_AGENT_RUNNERS"
"""AstrBot's runners at work, by chat; core/pipeline/process_stage/follow_up.py."""


class MainAgent:
    """One main agent at work."""

    def __init__(self, runner: ToolLoopAgentRunner[Any]) -> None:
        self._runner = runner

    def works_in(self, run_context: object) -> bool:
        """Whether this is the agent of that run context."""
        return bool(self._runner.run_context is run_context)

    def was_aborted(self) -> bool:
        """Whether it was cut off at work."""
        return bool(self._runner.was_aborted())

    def ended_without_answer(self) -> bool:
        """Whether it ended with a tool that answers the user itself, and so with no last words."""
        return bool(self._runner.done()) and self._runner.get_final_llm_resp() is None

    def before_each_request(self, tell: Callable[[], None]) -> None:
        """Call this before each model request, in whatever way the request is sent."""
        # AstrBot lets this work on the messages right before each request, with tools in full or
        # in short, streaming or not; core/agent/runners/tool_loop_agent_runner.py:step.
        messages = self._runner.request_context_manager
        process = messages.process

        async def tell_first(*arguments: Any, **named: Any) -> Any:
            tell()
            return await process(*arguments, **named)

        setattr(messages, "process", tell_first)  # noqa: B010 - mypy takes no method for a variable


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
