"""What a running child may do to its session, bound to its run: post to the board.

The sender of a note is the child itself, whatever its model says.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .errors import FeatureOff
from .models import Run, SharedEntry
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
