"""The turn desk: the turns of one session that are under way, and what their ends bring."""

from collections.abc import Collection

from .agents import AgentDesk
from .events import TurnEnded
from .models import OwnerId, Run, SessionId, StopReason, Turn, TurnEnd
from .names import name_key
from .roster import Roster
from .runs.desk import RunDesk
from .services import Services
from .settings import Settings
from .turn_log import TurnLog


class TurnDesk:
    """Knows who is at work, hands results to turns and ends them."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        agents: AgentDesk,
        roster: Roster,
        runs: RunDesk,
        log: TurnLog,
    ) -> None:
        self._session = session
        self._services = services
        self._agents = agents
        self._roster = roster
        self._runs = runs
        self._log = log
        self._open: dict[str, Turn] = {}
        self._ending: set[str] = set()

    def is_idle(self) -> bool:
        """Whether no turn is under way or just ending."""
        return not self._open and not self._ending

    def begin(self, turn: Turn) -> None:
        """A user's turn begins."""
        self._open[turn.turn_id] = turn

    def find(self, turn_id: str) -> Turn | None:
        """A turn that is under way."""
        return self._open.get(turn_id)

    def newest(self, owner: OwnerId) -> Turn | None:
        """The newest turn of a user that is under way."""
        turns = [turn for turn in self._open.values() if turn.asker.owner == owner]
        return turns[-1] if turns else None

    def hand(self, runs: Collection[Run], turn: Turn, *, passing: bool = False) -> list[Run]:
        """Give finished results to a turn that is under way.

        Only the owner's own turn takes them: whoever else may read a result takes it from nobody.

        Args:
            runs: The finished runs.
            turn: Who gets them.
            passing: The host drops the text after the turn; only an answer makes it last.

        Returns:
            Those that the turn has now and nobody had before.
        """
        if turn.turn_id not in self._open:
            return []
        mine = [run for run in runs if run.owner == turn.asker.owner]
        return self._runs.results.hand(mine, turn, passing=passing)

    async def end(self, turn: Turn, settings: Settings, *, end: TurnEnd) -> bool:
        """End a turn.

        Returns:
            False when it was ended before, or never began.
        """
        if self._open.pop(turn.turn_id, None) is None:
            return False
        self._ending.add(turn.turn_id)
        try:
            children, turn.children = tuple(turn.children), set()
            cut_off = end in (TurnEnd.STOPPED, TurnEnd.LOST) and not self._keeps(turn, settings)
            for run_id in children:
                if cut_off:
                    self._runs.stop(run_id, StopReason.TURN)
                else:
                    self._runs.hand_over(run_id)
            # what this turn was asked and did not answer is asked anew
            questions = self._runs.questions
            questions.show([run.run_id for run in questions.shown_to(turn.turn_id)], "")
            await self._runs.results.settle(turn, end)
            await self._log.end(turn, end)
            if cut_off:
                await self._runs.stopped(children, StopReason.TURN)
            if settings.dynamic_agents.auto_cleanup_per_turn and end is not TurnEnd.LEFT:
                await self._clean_up(turn.asker.owner)
        finally:
            self._ending.discard(turn.turn_id)
            self._services.bus.publish(
                TurnEnded(
                    session=self._session,
                    at=self._services.clock.now(),
                    turn_id=turn.turn_id,
                    owner=turn.asker.owner,
                )
            )
        return True

    def _keeps(self, turn: Turn, settings: Settings) -> bool:
        """Whether the foreground children of a turn that is cut off go on without it."""
        return turn.keeps_children or settings.on_turn_interrupted == "keep"

    async def _clean_up(self, owner: OwnerId) -> None:
        """Remove the unprotected agents of a user whose turns are over and results are read."""
        unread = await self._runs.results.unread_agents()
        for config in self._roster.dynamic():
            if self.newest(owner) is not None:
                return
            if config.owner == owner and name_key(config.name) not in unread:
                await self._agents.clear_away(config)
