"""What a running child may do to its session, bound to its run: post to the board.

The sender of a note is the child itself, whatever its model says.
"""

from dataclasses import dataclass

from .models import Run, SharedEntry
from .shared_context import EVERYONE, EntryKind, SharedContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDesk:
    """The session as one child reaches it."""

    run: Run
    board: SharedContext | None
    """None when the board is off."""
    board_limit: int

    async def post(
        self, kind: EntryKind, content: str, *, target: str = EVERYONE
    ) -> SharedEntry | None:
        """Put a note on the board; None when the board is off.

        Raises:
            InvalidArgument: The text is empty.
        """
        if self.board is None:
            return None
        return await self.board.post(
            kind,
            content,
            sender=self.run.agent or self.run.run_id,
            owner=self.run.owner,
            target=target,
            limit=self.board_limit,
        )
