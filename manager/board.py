"""The board desk: the session's notice board with its switch, as the main agent reaches it."""

from collections.abc import Callable

from .errors import AgentNotFound, FeatureOff
from .models import BOT, OwnerId, SharedEntry, Turn
from .roster import Roster
from .settings import Settings
from .shared_context import (
    EVERYONE,
    MAIN_AGENT,
    THE_BOT,
    EntryKind,
    SharedContext,
    board_name,
)


class BoardDesk:
    """Posts and reads for the main agent; children reach the board by their own tool."""

    def __init__(
        self,
        board: SharedContext,
        roster: Roster,
        *,
        settings: Callable[[], Settings],
        switch: Callable[[], bool | None],
    ) -> None:
        """Set the desk up.

        Args:
            board: The notes.
            roster: Who a note can be for.
            settings: The settings of now.
            switch: The session's own switch; None follows the settings.
        """
        self._board = board
        self._roster = roster
        self._settings = settings
        self._switch = switch

    @property
    def is_on(self) -> bool:
        """Whether agents of this session share a board now."""
        own = self._switch()
        return self._settings().shared_context_enabled if own is None else own

    def for_children(self) -> SharedContext | None:
        """The notes for a child; None when the board is off."""
        return self._board if self.is_on else None

    def notes(self) -> tuple[SharedEntry, ...]:
        """All notes, oldest first.

        Raises:
            FeatureOff: The board is off.
        """
        self._check_on()
        return tuple(self._board.entries())

    async def post(
        self, kind: EntryKind, content: str, turn: Turn, *, target: str = EVERYONE
    ) -> SharedEntry:
        """Post as the main agent.

        Raises:
            FeatureOff: The board is off.
            AgentNotFound: The target is neither `all` nor an agent.
            InvalidArgument: The text is empty.
        """
        return await self._post(kind, content, (MAIN_AGENT, turn.asker.owner), target)

    async def post_for_bot(
        self, kind: EntryKind, content: str, *, target: str = EVERYONE
    ) -> SharedEntry:
        """Post as the people who run the bot; a system note of theirs counts for every user.

        Raises:
            FeatureOff: The board is off.
            AgentNotFound: The target is neither `all` nor an agent.
            InvalidArgument: The text is empty.
        """
        return await self._post(kind, content, (THE_BOT, BOT), target)

    async def _post(
        self, kind: EntryKind, content: str, by: tuple[str, OwnerId], target: str
    ) -> SharedEntry:
        """Post by a sender of an owner."""
        self._check_on()
        sender, owner = by
        return await self._board.post(
            kind,
            content,
            sender=sender,
            owner=owner,
            target=self.target(target),
            limit=self._settings().shared_context_maxlen,
        )

    def target(self, wanted: str) -> str:
        """The name a note is for, as its agent is spelled.

        Raises:
            AgentNotFound: It is neither `all` nor an agent.
        """
        if wanted.strip().lower() in ("", EVERYONE):
            return EVERYONE
        if (agent := self._roster.find(wanted)) is None:
            raise AgentNotFound(wanted, [EVERYONE, *(each.name for each in self._roster.all())])
        return board_name(agent.name)

    def _check_on(self) -> None:
        if not self.is_on:
            key = "" if self._settings().shared_context_enabled else "shared_context_enabled"
            raise FeatureOff("The shared context", key=key)
