"""Steering: what the people of a chat, and the page, do to what a session keeps.

Memories and the notice board are looked at, cleared and switched here. A memory is cleared by
`SubAgentManager.reset`, for people as for the main agent; what else that one may do is in
`agents.py` and `board.py`. Agents are edited here as well, which no model does.
"""

from .agents import AgentChanges, AgentDesk
from .errors import NotPermitted
from .models import Asker, SharedEntry, StoredMessage, SubAgentConfig, Turn
from .roster import Roster
from .services import Services
from .session_state import SessionState
from .shared_context import SharedContext


class Steering:
    """What people do to one session's memories and board.

    `private` says that the asker is alone with the bot in this chat: such a user may do all of it,
    in a group only an admin of the bot may do what concerns everyone.
    """

    def __init__(
        self,
        services: Services,
        state: SessionState,
        roster: Roster,
        board: SharedContext,
        agents: AgentDesk,
    ) -> None:
        self._services = services
        self._agents = agents
        self._state = state
        self._roster = roster
        self._board = board

    # ---- agents

    async def edit(self, name: str, changes: AgentChanges, turn: Turn) -> SubAgentConfig:
        """Change one's own idle dynamic agent; its memory and its owner stay.

        Raises:
            SubAgentError: It is not there, static, busy or another's, or may not be so.
        """
        return await self._agents.edit(name, changes, turn, self._services.settings())

    # ---- memory

    async def memory(
        self, name: str, asker: Asker, *, private: bool, newest: int = 100
    ) -> list[StoredMessage]:
        """What an agent has in its memory, oldest first; its owner may look too.

        It is there whether or not memories are switched on: the switch says if they are loaded.

        Args:
            name: The agent.
            asker: Who wants to see it.
            private: Whether the asker is alone with the bot.
            newest: How many messages at most.

        Raises:
            AgentNotFound: No such agent.
            NotPermitted: It is another user's, or the bot's own in a group.
        """
        config = self._roster.get(name)
        if config.owner != asker.owner:
            _check(asker, private, f"The memory of sub-agent {config.name!r}")
        return await self._services.store.load_messages(config.conversation, newest=newest)

    def memory_is_on(self) -> bool:
        """Whether agents of this session remember their earlier tasks now."""
        return self._state.remembers()

    async def switch_memory(self, on: bool | None, asker: Asker, *, private: bool) -> None:
        """Let agents of this session remember, or not; None follows the settings.

        It counts for tasks that start from now on.

        Raises:
            NotPermitted: The asker is a member of a group.
            StoreUnavailable: It could not be stored; the switch is as before.
        """
        _check(asker, private, "The memory switch of this group")
        await self._state.switch_memory(on)

    # ---- the board

    def board(self, asker: Asker, *, private: bool) -> tuple[SharedEntry, ...]:
        """All notes, oldest first, also while the board is off.

        Raises:
            NotPermitted: The asker is a member of a group.
        """
        _check(asker, private, "The notice board of this group")
        return tuple(self._board.entries())

    async def clear_board(self, asker: Asker, *, private: bool, sender: str | None = None) -> int:
        """Take all notes away, or those of one sender; how many went.

        Raises:
            NotPermitted: The asker is a member of a group.
            StoreUnavailable: They could not be deleted; the board is as before.
        """
        _check(asker, private, "The notice board of this group")
        return await self._board.clear(sender=sender)

    async def switch_board(self, on: bool | None, asker: Asker, *, private: bool) -> None:
        """Let agents of this session share a board, or not; None follows the settings.

        It counts for tasks that start from now on, and at once for the main agent.

        Raises:
            NotPermitted: The asker is a member of a group.
            StoreUnavailable: It could not be stored; the switch is as before.
        """
        _check(asker, private, "The board switch of this group")
        await self._state.switch_board(on)


def _check(asker: Asker, private: bool, what: str) -> None:
    if not (private or asker.is_admin):
        raise NotPermitted(what)
