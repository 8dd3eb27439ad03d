"""What there is in a session and what it is doing, in one record."""

from collections.abc import Sequence
from dataclasses import dataclass

from .models import AgentStatus, ConversationId, SubAgentConfig
from .runs.desk import RunDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the main agent is told of its session."""

    agents: tuple[AgentStatus, ...]
    free_agents: int
    free_places: int


def make_overview(
    configs: Sequence[SubAgentConfig],
    runs: RunDesk,
    *,
    memory: dict[ConversationId, int],
    free_agents: int,
) -> Overview:
    """Put an overview together.

    Args:
        configs: The agents that are shown.
        runs: The session's runs.
        memory: How many messages each conversation holds; empty ones may be left out.
        free_agents: How many more may be made; shown as 0 when below.
    """
    return Overview(
        agents=tuple(
            _status(config, runs, memory.get(config.conversation, 0)) for config in configs
        ),
        free_agents=max(0, free_agents),
        free_places=runs.free_places(),
    )


def _status(config: SubAgentConfig, runs: RunDesk, memory_messages: int) -> AgentStatus:
    live = runs.live(config.name)
    return AgentStatus(
        config=config,
        running=tuple(run for run in live if runs.position(run.run_id) is None),
        queued=tuple(run for run in live if runs.position(run.run_id) is not None),
        memory_messages=memory_messages,
    )
