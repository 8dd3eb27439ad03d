"""What happens when the main agent calls one of our tools: find its turn, answer in time.

AstrBot cancels a call at its time limit and shows the model an error instead, so every tool gets a
little less than that.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..manager.host import Clock
from ..subagent_tools import CallContext, ToolSpec, call_tool
from .chat_off import ChatOff
from .fork_capture import capture_fork
from .turns import Turns

_OVER = (
    "This tool belongs to a turn that is over, or the sub-agents plugin was reloaded while it ran. "
    "Nothing was done. Tasks under way go on. Answer the user now; the tools work again from the "
    "user's next message on."
)
_OFF = (
    "Sub-agents have been switched off for this chat. Nothing was done, and running tasks are "
    "being ended. Go on without them."
)

_NO_LIMIT_SECONDS = 24 * 3600.0
_MARGIN_SHARE = 0.1
_MARGIN_LEAST_SECONDS = 0.3
_MARGIN_MOST_SECONDS = 5.0
"""The margin to AstrBot's limit: a share of it within these bounds."""

_RETURN_SECONDS = 5.0
"""How long calls under way get to return when the plugin stops."""


class ToolCalls:
    """Answers the calls of our tools."""

    def __init__(self, turns: Turns, off: ChatOff, clock: Clock) -> None:
        self._turns = turns
        self._off = off
        self._clock = clock
        self._under_way = 0
        self._none_under_way = asyncio.Event()
        self._none_under_way.set()

    async def answer(
        self,
        spec: ToolSpec[Any],
        run_context: Any,
        arguments: Mapping[str, Any],
    ) -> str:
        """Answer one call.

        Args:
            spec: The tool.
            run_context: AstrBot's: the event, the main agent's messages, the call's time limit.
            arguments: As the model gave them.
        """
        limit_seconds = float(run_context.tool_call_timeout or _NO_LIMIT_SECONDS)
        deadline = self._clock.monotonic() + limit_seconds - _margin(limit_seconds)
        with self._counted():
            open_turn = self._turns.of(run_context.context.event)
            if open_turn is None:
                return _OVER
            if await self._off.ended(open_turn.turn.session):
                return _OFF
            context = CallContext(
                manager=open_turn.manager,
                turn=open_turn.turn,
                seconds_left=lambda: max(0.0, deadline - self._clock.monotonic()),
                fork_context=partial(capture_fork, open_turn, run_context, now=self._clock.now()),
            )
            return await call_tool(spec, context, arguments)

    async def returned(self) -> None:
        """Wait until no call is under way any more; not for long."""
        try:
            async with asyncio.timeout(_RETURN_SECONDS):
                await self._none_under_way.wait()
        except TimeoutError:
            return

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        self._none_under_way.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._none_under_way.set()


def _margin(limit_seconds: float) -> float:
    share = limit_seconds * _MARGIN_SHARE
    return min(max(share, _MARGIN_LEAST_SECONDS), _MARGIN_MOST_SECONDS)
