"""What this process follows: the runs of its own chats that any process may execute.

A signal makes it look at once; all are looked at again from time to time, since a signal may be
lost, and those that nobody alive has are sent once more.
"""

import logging
from collections.abc import Collection
from typing import Protocol

from ..errors import StoreError
from ..models import RunId
from ..runs.pausing import pause
from ..runs.supervisor import Supervisor
from ..services import Services
from .ports import Sharing

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 15.0


class Followed(Protocol):
    """A run that is followed."""

    @property
    def is_sent(self) -> bool:
        """Whether it is another's to bring it on: it was sent, and is not executed here."""
        ...

    @property
    def only(self) -> str:
        """The home that must execute it; "" is any."""
        ...

    def stir(self) -> None:
        """Something may have changed: look."""
        ...

    async def execute_here(self) -> None:
        """The run was brought to its own home: execute it, and return once it is over or lost."""
        ...


class Following:
    """The runs that are followed, by their id."""

    def __init__(self, services: Services, sharing: Sharing, supervisor: Supervisor) -> None:
        self._services = services
        self._sharing = sharing
        self._supervisor = supervisor
        self._runs: dict[RunId, Followed] = {}
        self._is_watching = False

    def find(self, run_id: RunId) -> Followed | None:
        """The run, if it is followed here."""
        return self._runs.get(run_id)

    def add(self, run_id: RunId, run: Followed) -> None:
        """Follow a run from now on."""
        self._runs[run_id] = run
        if not self._is_watching and not self._supervisor.closing:
            self._is_watching = True
            self._supervisor.start(self._look_from_time_to_time(), name="looking at runs")

    def remove(self, run_id: RunId, run: Followed) -> None:
        """Follow it no more."""
        if self._runs.get(run_id) is run:
            del self._runs[run_id]

    def heard(self, run_id: RunId) -> None:
        """A run has changed."""
        if (run := self._runs.get(run_id)) is not None:
            run.stir()

    def look(self) -> None:
        """Look at all of them: signals may have been missed."""
        for run in tuple(self._runs.values()):
            run.stir()

    async def _look_from_time_to_time(self) -> None:
        try:
            while self._runs:
                await pause(self._services.clock, LOOK_AGAIN_SECONDS)
                self.look()
                await self._send_lost([each for each, run in self._runs.items() if run.is_sent])
        finally:
            self._is_watching = False

    async def _send_lost(self, run_ids: Collection[RunId]) -> None:
        try:
            for run_id in await self._sharing.workforce.lost(run_ids) if run_ids else ():
                if (run := self._runs.get(run_id)) is not None and run.is_sent:
                    await self._sharing.workforce.send(run_id, only=run.only)
        except StoreError as error:
            logger.warning("Runs that nobody has could not be sent again yet: %s", error)
