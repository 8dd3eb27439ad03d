"""The last write of a run: its end with its delivery, neither without the other."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from ..errors import LostRun
from ..models import Run
from ..store.protocol import RunWrite
from .execution_ports import ExecutionPorts
from .missed import write_end
from .pausing import pause

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 1.0
"""How long whoever waits for a run waits for its end to be stored, too."""


async def write_last(ports: ExecutionPorts, write: RunWrite, tell: Callable[[], None]) -> None:
    """Write the end of a run, and tell of it once it is stored or it takes too long.

    Args:
        ports: What the run works with.
        write: The end, with its delivery.
        tell: Tells whoever waits; called once unless the run is lost.

    Raises:
        LostRun: The run is another executor's; nobody was told.
    """
    run = write.run
    writing = asyncio.ensure_future(write_end(ports.store, write, rows_may_go=False))
    await pause(ports.clock, _PATIENCE_SECONDS, until=writing)
    if writing.done() and isinstance(writing.exception(), LostRun | None):
        writing.result()
    else:
        # the result is handed over from memory all the same
        ports.missed(write)
    tell()
    try:
        await writing
    except LostRun:
        logger.info("The end of run %s was stored by a later attempt", run.run_id)
    except Exception:
        logger.exception("The end of run %s could not be stored yet", run.run_id)


async def with_what_it_made(ports: ExecutionPorts, run: Run) -> Run:
    """The run with what its child made where it stays."""
    try:
        return await ports.keep(run)
    except Exception:
        logger.exception("What run %s made could not be kept", run.run_id)
        return replace(run, artifacts=tuple(replace(i, path="") for i in run.artifacts))
