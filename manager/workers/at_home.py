"""A followed run that was brought to its own home: executed there as any that nobody shares."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..models import Failure, Run, RunState
from ..runs.asking import Asking
from ..runs.execution import Execution
from ..runs.kinds import Place, execution_of
from ..runs.line import Ticket
from ..runs.shielding import seen_out
from ..runs.state import advance
from .crew import Crew
from .handing_back import hand_back
from .orders import Obedience, Orders


class AtHome:
    """The work of this process on one run of its own."""

    def __init__(self, place: Place, crew: Crew, asking: Asking, orders: Orders) -> None:
        """Set it up.

        Args:
            place: Where the run stands.
            crew: The processes that share the work.
            asking: Where its questions are open.
            orders: What was ordered of it while it was another's.
        """
        self._place = place
        self._crew = crew
        self._asking = asking
        self._orders = orders
        self._working: asyncio.Task[None] | None = None
        self.execution: Execution | None = None
        """Set while it is executed here."""

    @property
    def is_busy(self) -> bool:
        """Whether it is executed here, or is about to be."""
        return self._working is not None

    async def work(
        self, known: Run, refuse: Callable[[Failure], Awaitable[None]], begun: Callable[[], None]
    ) -> None:
        """Execute it, and return once it is over or lost.

        Args:
            known: The run as it was seen last; whether somebody waits for it is told by it alone.
            refuse: Ends it with a failure: crashes have cut it off too often.
            begun: Told as soon as it is executed here.
        """
        name = f"run {known.run_id}, at home"
        work = self._working = self._crew.supervisor.start(self._work(known, refuse), name=name)
        begun()
        await seen_out(work)

    async def ended(self) -> Execution | None:
        """Wait until it is not executed here any more; None: it never was."""
        if self._working is not None:
            await asyncio.wait([self._working])
        execution, self.execution, self._working = self.execution, None, None
        return execution

    async def _work(self, known: Run, refuse: Callable[[Failure], Awaitable[None]]) -> None:
        store, executor = self._place.ports.store, self._crew.executor
        row = await store.find_run(known.run_id)
        if row is None or row.is_over:
            return
        if row.fence > 0 and (failure := self._crew.taking_up.why_not(row)) is not None:
            await refuse(failure)
            return
        is_ours = row.executor == executor or row.fence == 0
        if row.state is RunState.RUNNING:
            row = advance(row, RunState.QUEUED)
        row = replace(row, executor=executor, background=known.background)
        place = replace(self._place, ticket=_ready(self._place.ticket), gate=None)
        execution = execution_of(row, place)
        # the run that is followed here has it, and keeps it where another process goes on
        execution.keeps_place = True
        execution.asking, execution.has_all_its_time = self._asking, not is_ours
        obedience = Obedience(execution, place.ports.bus)
        obedience.carry_out(await self._orders.take_back())
        self.execution = execution
        self._crew.obeying[known.run_id] = obedience
        try:
            await execution.execute()
        except asyncio.CancelledError:
            # nobody waits for it after a reload
            await hand_back(replace(execution.run, background=True), store, executor=executor)
            raise
        finally:
            obedience.close()
            del self._crew.obeying[known.run_id]


def _ready(ticket: Ticket) -> Ticket:
    """A ticket whose run has its place already."""
    ready = asyncio.get_running_loop().create_future()
    ready.set_result(None)
    return replace(ticket, ready=ready)
