"""Whether a run that was cut off is taken up, and how it ends when it is not.

The bound counts crashes: a reload of the same process is not one, and neither is a process that
handed its run back in order, which leaves it without an executor.
"""

import logging
from dataclasses import replace
from datetime import timedelta

from ..artifacts import keep_artifacts
from ..models import Failure, Run, delivery_of
from ..services import Services
from ..store.protocol import RunWrite
from .endings import interrupted

logger = logging.getLogger(__name__)

MOST_TAKES = 5
"""How often a run is taken up at most: it may be what brings the bot down."""
OLDEST = timedelta(days=1)
"""A run that was asked for longer ago is not taken up: nobody waits for it."""


class TakingUp:
    """Decides on the runs that a crash left behind."""

    def __init__(self, services: Services, *, most_takes: int = MOST_TAKES) -> None:
        """Set it up.

        Args:
            services: The core's surroundings.
            most_takes: How often a run is taken up at most, at least 1.
        """
        self._services = services
        self._most_takes = most_takes

    def why_not(self, run: Run) -> Failure | None:
        """Why a run that was cut off does not go on; None: it does."""
        is_handed_back = run.fence > 0 and not run.executor
        if is_handed_back or run.executor == self._services.executor:
            return None
        if not self._services.settings().resume_on_restart:
            return Failure(code="interrupted", message="The bot was restarted while this ran.")
        if self._services.clock.now() - run.created_at > OLDEST:
            return Failure(
                code="interrupted",
                message="The bot was restarted, and this was too old to be taken up.",
            )
        if run.fence >= self._most_takes:
            return Failure(
                code="taken_up_too_often",
                message=f"The bot was restarted {run.fence} times while this ran; it may be the "
                "cause.",
            )
        return None

    async def interrupt(self, run: Run, failure: Failure) -> None:
        """Write the end of a run that does not go on, with its delivery.

        Raises:
            LostRun: Somebody else has it.
            StoreError: It could not be written.
        """
        now = self._services.clock.now()
        # nobody waits for it any more: its owner is to hear of it
        ended = interrupted(replace(run, background=True), failure, now)
        ended = await keep_artifacts(ended, self._services.files)
        write = RunWrite(run=ended, delivery=delivery_of(ended, now))
        await self._services.store.write_run(write)
        logger.warning("Run %s was cut off by a restart", run.run_id)
