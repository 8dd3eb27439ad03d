"""The result desk: the way of finished runs' results to the turns of their owners.

What became of each result is known to the outbox alone; here it is joined with the runs that the
results came from. The results of a group go to a turn together, once all of its runs are over.
"""

import logging
from collections.abc import Collection
from typing import Protocol

from ..errors import RunNotFound
from ..events import ResultsHanded
from ..models import Delivery, GroupId, OwnerId, Run, RunId, SessionId, Turn, TurnEnd, delivery_of
from ..names import name_key
from ..services import Services
from ..store.rows import DamagedRow
from .missed import MissedEnds
from .outbox import Outbox

logger = logging.getLogger(__name__)


class Runs(Protocol):
    """What the desk needs to know of the session's runs."""

    async def find(self, run_id: str) -> Run:
        """One run; raises `RunNotFound`."""
        ...

    def live(self) -> list[Run]:
        """Unfinished runs."""
        ...

    def let_go(self, run_id: RunId) -> None:
        """The result of an ended run is read."""
        ...


class ResultDesk:
    """Hands results to turns, each once."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        outbox: Outbox,
        missed: MissedEnds,
        *,
        runs: Runs,
    ) -> None:
        self._session = session
        self._services = services
        self._runs = runs
        self._missed = missed
        self.outbox = outbox

    def delivery(self, run: Run) -> Delivery:
        """The outbox row that a run's end brings."""
        return delivery_of(run, self._services.clock.now())

    def add(self, run: Run) -> None:
        """A run is over, and its end is written or will be."""
        self.outbox.add(self.delivery(run))

    def is_stored(self) -> bool:
        """Whether the store knows of every end, and nobody is at work with a result."""
        return not self._missed and self.outbox.is_stored() and not self.outbox.has_handed()

    def is_behind(self) -> bool:
        """Whether there are ends that the store has not taken, so that they are in memory alone."""
        return bool(self._missed)

    async def write_missed(self) -> None:
        """Write the ends that the store would not take when they came."""
        await self._missed.write()

    def hand(self, runs: Collection[Run], turn: Turn, *, passing: bool) -> list[Run]:
        """Give finished results to a turn; those that another has are left out."""
        ids = self.outbox.hand([run.run_id for run in runs], taker=turn.turn_id, passing=passing)
        if ids:
            self._services.bus.publish(
                ResultsHanded(
                    session=self._session,
                    at=self._services.clock.now(),
                    delivery_ids=ids,
                    taker=turn.turn_id,
                )
            )
        return [run for run in runs if run.run_id in ids]

    async def pending(self, owner: OwnerId, most: int) -> list[Run]:
        """Finished runs of this owner whose results nobody has, the oldest ones.

        Those of a group that is still at work are left out.
        """
        at_work = self._groups_at_work()
        found: list[Run] = []
        for row in self.outbox.pending(owner):
            run = await self._of_result(row.delivery_id)
            if run is not None and run.group_id not in at_work:
                found.append(run)
            if len(found) == most:
                break
        return found

    def tried_too_often(self, owner: OwnerId, most: int) -> set[str]:
        """Ids of this owner's results that were handed over or claimed at least this often."""
        return {row.delivery_id for row in self.outbox.pending(owner) if row.attempts >= most}

    def _groups_at_work(self) -> set[GroupId]:
        return {run.group_id for run in self._runs.live() if run.group_id is not None}

    async def _of_result(self, run_id: str) -> Run | None:
        """The run that a result came from; None when it cannot be read: the others go on."""
        try:
            return await self._runs.find(run_id)
        except DamagedRow as error:
            logger.warning("The result of task %s is set aside: %s", run_id, error)
        except RunNotFound:
            # it was deleted by retention: nothing is left to be read
            await self.outbox.close([run_id])
        return None

    async def acknowledge(self, run_ids: Collection[RunId]) -> None:
        """These results have reached their owner as messages."""
        await self.outbox.acknowledge(run_ids)
        self._let_go(run_ids)

    async def close(self, run_ids: Collection[str]) -> None:
        """Nobody is to get these results any more."""
        await self.outbox.close(run_ids)
        self._let_go(run_ids)

    async def settle(self, turn: Turn, end: TurnEnd) -> None:
        """Close what a turn was handed, or put it back into the outbox."""
        await self.write_missed()
        self._let_go(await self.outbox.settle(turn.turn_id, end))

    def _let_go(self, run_ids: Collection[str]) -> None:
        for run_id in run_ids:
            if run_id not in self._missed:
                self._runs.let_go(RunId(run_id))
        self._missed.keep_trying()

    async def unread_agents(self) -> set[str]:
        """Name keys of agents with live runs or results still on their way."""
        runs = self._runs.live()
        for delivery_id in self.outbox.ids():
            if (run := await self._of_result(delivery_id)) is not None:
                runs.append(run)
        return {name_key(run.agent) for run in runs if run.agent is not None}
