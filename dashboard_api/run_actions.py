"""What is done to runs from the page."""

from ..manager.errors import FeatureOff, InvalidArgument
from ..manager.models import SessionId, StopReason
from .asks import AnswerAsks, RunActionAsks, SteerAsks
from .dashboard import PAGE, Dashboard
from .orders import order
from .replies import Reply, RunDetail, RunRow
from .run_views import detail, row
from .standing import find_run


async def cancel(dashboard: Dashboard, asked: RunActionAsks) -> RunDetail:
    """Stop a run; it keeps what it had. One in another process may take a moment to end."""
    found = await find_run(dashboard, asked.session, asked.run_id)
    if await dashboard.is_elsewhere(SessionId(asked.session)):
        await order(dashboard, found, "stop", StopReason.USER)
    else:
        manager = await dashboard.manager(asked.session)
        await manager.stopping.stop(found.run_id, PAGE, StopReason.USER)
    return await detail(dashboard, await find_run(dashboard, asked.session, found.run_id))


async def steer(dashboard: Dashboard, asked: SteerAsks) -> Reply:
    """Tell a run something that it sees before its next model request."""
    if await dashboard.is_elsewhere(SessionId(asked.session)):
        found = await find_run(dashboard, asked.session, asked.run_id)
        await order(dashboard, found, "steer", _words("text", asked.text))
    else:
        manager = await dashboard.manager(asked.session)
        await manager.guiding.steer(asked.run_id, asked.text, PAGE)
    return Reply()


async def answer(dashboard: Dashboard, asked: AnswerAsks) -> Reply:
    """Answer a run's question."""
    if await dashboard.is_elsewhere(SessionId(asked.session)):
        found = await find_run(dashboard, asked.session, asked.run_id)
        await order(dashboard, found, "answer", _words("answer", asked.answer))
    else:
        manager = await dashboard.manager(asked.session)
        await manager.guiding.answer(asked.run_id, asked.answer, PAGE)
    return Reply()


async def retry(dashboard: Dashboard, asked: RunActionAsks) -> RunRow:
    """Do a run that is over once more, for whom it was done."""
    manager = await dashboard.manager(asked.session)
    if not manager.settings.enabled:
        raise FeatureOff("The sub-agents plugin", key="enabled")
    if await dashboard.services.messenger.is_off_for(manager.session):
        raise FeatureOff("The sub-agents plugin")
    return await row(dashboard, await manager.guiding.retry(asked.run_id, PAGE))


def _words(key: str, text: str) -> str:
    if not text.strip():
        raise InvalidArgument(key, "must not be empty")
    return text
