"""What `/reset` of the platform means here: a user begins anew, and nothing comes back from before.

In a group a member takes away what is their own; an admin, and who is alone with the bot, all.
"""

from dataclasses import dataclass

from .agents import AgentDesk
from .models import BOT, Asker, OwnerId, StopReason
from .roster import Roster
from .runs.desk import RunDesk
from .shared_context import SharedContext
from .stopping import Stopping
from .turn_log import TurnLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What a reset took away."""

    stopped: int = 0
    """Runs that were under way."""
    agents: int = 0
    memories: int = 0
    notes: int = 0
    results: int = 0
    """Results that nobody had, and nobody will get now."""

    @property
    def is_nothing(self) -> bool:
        """Whether there was nothing to take away."""
        return self == Forgotten()


class Forgetting:
    """Resets one session for a user."""

    def __init__(
        self,
        runs: RunDesk,
        stopping: Stopping,
        agents: AgentDesk,
        roster: Roster,
        board: SharedContext,
        log: TurnLog,
    ) -> None:
        self._runs = runs
        self._stopping = stopping
        self._agents = agents
        self._roster = roster
        self._board = board
        self._log = log

    async def forget(self, asker: Asker) -> Forgotten:
        """Stop the asker's runs; forget their agents, memories, notes and undelivered results.

        Protected agents stay, without their memory.

        Raises:
            StoreError: Not all of it could be written; what is left is as it was.
        """
        stopped = await self._stopping.stop_all_of(asker, StopReason.USER)
        results = await self._close_results(asker)
        for owner in self._log.lost_owners():
            if _concerns(asker, owner):
                await self._log.drop(owner)
        agents = memories = 0
        for config in self._roster.all():
            if not _concerns(asker, config.owner):
                continue
            if config.owner != BOT and not config.protected:
                agents += await self._agents.clear_away(config)
            else:
                memories += await self._agents.wipe(config)
        notes = await self._clear_notes(asker)
        return Forgotten(
            stopped=len(stopped),
            agents=agents,
            memories=memories,
            notes=notes,
            results=results,
        )

    async def _close_results(self, asker: Asker) -> int:
        # those too that a turn holds which the reset has cut off: they would come back at its end
        rows = self._runs.results.outbox.open()
        ids = [row.delivery_id for row in rows if _concerns(asker, row.owner)]
        await self._runs.results.close(ids)
        return len(ids)

    async def _clear_notes(self, asker: Asker) -> int:
        if _has_all(asker):
            return await self._board.clear()
        return await self._board.clear(owner=asker.owner)


def _has_all(asker: Asker) -> bool:
    return asker.is_admin or asker.is_alone


def _concerns(asker: Asker, owner: OwnerId) -> bool:
    return _has_all(asker) or owner == asker.owner
