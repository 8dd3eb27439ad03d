"""The crew: what all shared runs of this process work with."""

from dataclasses import dataclass, field

from ..models import RunId
from ..runs.supervisor import Supervisor
from ..runs.taking_up import TakingUp
from ..services import Services
from .following import Following
from .orders import Obedience
from .ports import Sharing, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """This process among those that share the work."""

    services: Services
    sharing: Sharing
    supervisor: Supervisor
    following: Following
    taking_up: TakingUp
    obeying: dict[RunId, Obedience] = field(default_factory=dict)
    """Runs that are executed here, of any home: any process may order something of them."""

    @property
    def executor(self) -> str:
        """Names this process's life."""
        return self.services.executor

    async def send(self, run_id: RunId, *, only: str) -> None:
        """Have a process execute a run; see `Workforce.send`."""
        await self.sharing.workforce.send(run_id, only=only)

    async def tell_run(self, run_id: RunId) -> None:
        """Tell all that a run has changed."""
        await self.sharing.signals.tell(Signal(kind="run", subject=run_id))
