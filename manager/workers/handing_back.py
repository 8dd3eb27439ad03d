"""Handing a run back in order: this process stops, and another goes on with it."""

import logging
from dataclasses import replace

from ..errors import LostRun, StoreError
from ..models import Run, RunState
from ..runs.shielding import carry_through
from ..runs.state import advance
from ..store.protocol import RunWrite, Store

logger = logging.getLogger(__name__)


async def hand_back(run: Run, store: Store, *, executor: str) -> None:
    """Write that nobody has a run any more, so that its being taken again is no crash.

    Args:
        run: As it stands in memory.
        store: Where it is kept.
        executor: This process; a run of another is left alone.
    """
    if run.is_over or run.fence == 0 or run.executor != executor:
        return
    if run.state is RunState.RUNNING:
        run = advance(run, RunState.QUEUED)
    try:
        await carry_through(store.write_run(RunWrite(run=replace(run, executor=""))))
    except (LostRun, StoreError) as error:
        logger.info("Run %s could not be handed back: %s", run.run_id, error)
