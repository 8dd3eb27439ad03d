"""What a running child may do to its session, bound to its run: post to the board, ask.

The sender of a note is the child itself, whatever its model says.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from .errors import FeatureOff, InvalidArgument
from .models import Run, SharedEntry
from .runs.resume import NO_ANSWER
from .shared_context import EVERYONE, EntryKind, SharedContext, board_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDesk:
    """The session as one child reaches it."""

    run: Run
    board: SharedContext | None
    """None when the board is off."""
    board_limit: int
    resolve_target: Callable[[str], str]
    """The name a note is for, as its agent is spelled; raises `AgentNotFound`."""
    ask_principal: Callable[[str], Awaitable[str | None]] | None = None
    """Asks whoever gave the task and waits; None in reply: nobody answered in time. None: off."""

    async def post(self, kind: EntryKind, content: str, *, target: str = EVERYONE) -> SharedEntry:
        """Put a note on the board.

        Raises:
            FeatureOff: The board is off.
            InvalidArgument: The text is empty.
            AgentNotFound: The target is neither `all` nor an agent.
        """
        if self.board is None:
            raise FeatureOff("The shared context")
        return await self.board.post(
            kind,
            content,
            sender=board_name(self.run.agent or self.run.run_id),
            owner=self.run.owner,
            target=self.resolve_target(target),
            limit=self.board_limit,
        )

    async def ask(self, question: str, options: Sequence[str] = ()) -> str:
        """Ask whoever gave the task, and wait for the answer.

        Returns:
            The answer, or what to do without one.

        Raises:
            FeatureOff: Questions are off.
            InvalidArgument: The question is empty.
        """
        if self.ask_principal is None:
            raise FeatureOff("Asking questions", key="questions_enabled")
        if not question.strip():
            raise InvalidArgument("question", "must not be empty")
        answer = await self.ask_principal("\n".join([question, *(f"- {each}" for each in options)]))
        return NO_ANSWER if answer is None else answer
