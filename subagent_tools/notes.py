"""What the main agent is told at the head of its turn: who is there, what runs, what arrived.

It goes into a temporary part of the user turn, never into the system prompt.
"""

from ..manager import Overview, SubAgentManager, Turn
from ..manager.models import OwnerId
from ..manager.store.texts import clean
from .describing import about
from .reports import progress_of, reports

_ARRIVED = 50
"""Results that one turn is given; more come with the next."""


async def turn_notes(manager: SubAgentManager, turn: Turn) -> str:
    """The changing part of the main agent's knowledge; "" when there is nothing to tell.

    Results of the turn's owner that nobody has had are handed to this turn.
    """
    overview = await manager.overview(turn)
    arrived = await manager.collect(turn, most=_ARRIVED)
    live = [run for run in manager.runs.live() if run.owner == turn.asker.owner]
    parts = [_agents(overview, turn.asker.owner)]
    if live:
        lines = progress_of(live, manager.runs.position)
        parts.append(f"Tasks of this user under way (do not start them again):\n{lines}")
    if arrived:
        texts = reports(arrived, limit=manager.settings.result_maxlen)
        parts.append(f"Results that arrived since the last turn:\n\n{texts}")
    text = "\n\n".join(part for part in parts if part)
    return clean(f"[Sub-agents: state of this chat]\n{text}") if text else ""


def _agents(overview: Overview, reader: OwnerId) -> str:
    if not overview.agents:
        return ""
    lines = [
        f"- {status.config.name}: {about(status.config, reader, most=200)}"
        f" ({len(status.running)} running, {len(status.queued)} queued)"
        for status in overview.agents
    ]
    return "Sub-agents that exist now:\n" + "\n".join(lines)
