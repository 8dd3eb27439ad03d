"""Runs of chats that another process looks after: what is done to them goes as an order.

Whichever process executes the run takes the order and carries it out; the process that looks after
the chat sees the outcome in the store, as it does for any run that is executed elsewhere.
"""

from ..manager.errors import NoOpenQuestion, RunAlreadyFinished
from ..manager.models import Run, RunState
from ..manager.run_order import OrderKind, RunOrder
from .dashboard import Dashboard, elsewhere


async def order(dashboard: Dashboard, run: Run, kind: OrderKind, text: str) -> None:
    """Order something of a run that is executed in another process.

    Raises:
        RunAlreadyFinished: It is over.
        NoOpenQuestion: It asks nothing, and an answer was to be given.
        ApiProblem: No process executes it yet: only the one that looks after its chat reaches it.
    """
    if run.is_over:
        raise RunAlreadyFinished(run.run_id, run.state)
    if kind == "answer" and run.state is not RunState.WAITING:
        raise NoOpenQuestion(run.run_id, ())
    if not run.fence:
        raise elsewhere()
    await dashboard.services.store.add_order(
        RunOrder(
            session=run.session,
            run_id=run.run_id,
            kind=kind,
            text=text,
            about=run.question if kind == "answer" else "",
            at=dashboard.now,
        )
    )
    await dashboard.services.tell_others("order", run.run_id)
