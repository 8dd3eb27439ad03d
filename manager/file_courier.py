"""The files courier: sends what runs made, once their results have reached the chat as words.

Files go by themselves, so that one that cannot be sent holds up no result. What fails is tried a
few times more while this process lives; after that the files stay where the result says they are.
"""

from collections.abc import Collection
from dataclasses import replace

from .messenger import Errand, with_files
from .runs.pausing import pause
from .runs.supervisor import Supervisor
from .services import Services

_PAUSES = (5.0, 30.0)
"""Seconds before files that could not be sent are tried again."""


class FileCourier:
    """Sends the files of results that were told."""

    def __init__(self, services: Services, supervisor: Supervisor) -> None:
        self._services = services
        self._supervisor = supervisor

    async def bring(self, errand: Errand, told: Collection[str]) -> None:
        """Send the files of those results of an errand that were told; later, what fails now."""
        left = await self._send(_part(errand, told))
        if left.runs and not self._supervisor.closing:
            name = f"files of {errand.session}, later"
            self._supervisor.start(self._bring_later(left), name=name)

    async def _bring_later(self, left: Errand) -> None:
        for seconds in _PAUSES:
            await pause(self._services.clock, seconds)
            left = await self._send(left)
            if not left.runs:
                return

    async def _send(self, errand: Errand) -> Errand:
        """Send files; what is left of the errand."""
        if not errand.runs:
            return errand
        sent = await self._services.messenger.files(errand)
        return _part(errand, {run.run_id for run in errand.runs}.difference(sent))


def _part(errand: Errand, ids: Collection[str]) -> Errand:
    """The part of an errand that has these runs, so far as they made files."""
    return replace(errand, runs=tuple(run for run in with_files(errand) if run.run_id in ids))
