"""What a child's model is sent: AstrBot's own compression, then what only this request needs.

It stands in the runner's place for `request_context_manager`, which AstrBot asks once before each
model call, and so knows where the messages of a step begin even when older ones were replaced.
"""

from collections.abc import Sequence
from typing import Any

from astrbot.core.agent.message import Message

from .child_messages import note


class ChildContext:
    """Prepares the messages of one child's next request."""

    def __init__(self, inner: Any, task: Message, *, begins_whole: bool = False) -> None:
        """Set it up.

        Args:
            inner: AstrBot's context manager.
            task: The child's own user turn.
            begins_whole: Whether the first request is sent as it is. What a fork begins with was
                counted by its main agent's provider; AstrBot's guess may be far above that, and
                compression would cost the prefix cache.
        """
        self._inner = inner
        self._task = task
        self._is_left_whole = begins_whole
        self._notes: Sequence[str] = ()
        self._tokens = 0
        self.begin = 0
        """Where in the runner's messages those of the current step begin."""

    def announce(self, notes: Sequence[str]) -> None:
        """Say what the next request ends with; it stays for later ones and is never kept."""
        self._notes = notes

    def used(self, tokens: int) -> None:
        """Tell how many tokens the provider counted in the last request; 0 is unknown."""
        self._tokens = tokens

    async def process(self, messages: list[Message], trusted_token_usage: int = 0) -> list[Message]:
        """See AstrBot's `ContextManager.process`."""
        ready = await self._compressed(messages)
        if ready is not messages:
            ready = self._with_task(messages, ready)
            self._tokens = 0
        # behind the compression: it takes the last user message for the one to be answered
        ready.extend(note(text) for text in self._notes)
        self._notes = ()
        self.begin = len(ready)
        return ready

    async def _compressed(self, messages: list[Message]) -> list[Message]:
        if self._is_left_whole:
            self._is_left_whole = False
            return messages
        ready: list[Message] = await self._inner.process(
            messages, trusted_token_usage=self._estimate(messages)
        )
        return ready

    def _estimate(self, messages: list[Message]) -> int:
        """Tokens of these messages: what was counted, and a guess at what came since.

        AstrBot would guess at all of them again before each call.
        """
        if not self._tokens:
            return 0
        return self._tokens + int(self._inner.token_counter.count_tokens(messages[self.begin :]))

    def _with_task(self, before: list[Message], after: list[Message]) -> list[Message]:
        """Put the task back if compression took it away: without it the child's work is blind."""
        if any(message is self._task for message in after):
            return after
        order = {id(message): at for at, message in enumerate(before)}
        task_at = order.get(id(self._task), -1)
        later = (at for at, each in enumerate(after) if order.get(id(each), -1) > task_at)
        place = next(later, len(after))
        return [*after[:place], self._task, *after[place:]]
