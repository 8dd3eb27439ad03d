"""The core: sessions, agents, runs and delivery.

It knows no AstrBot, no web and no texts for people.
"""

from .agents import NewAgent
from .errors import SubAgentError
from .events import EventBus
from .manager import SubAgentManager
from .models import (
    AgentKind,
    AgentStatus,
    Asker,
    Origin,
    Run,
    RunId,
    RunState,
    SessionId,
    StopReason,
    SubAgentConfig,
    Turn,
    TurnEnd,
)
from .overview import Overview
from .runs.desk import WaitOutcome
from .services import Services
from .sessions import Sessions
from .settings import DynamicAgentSettings, Settings
from .tasks import NewTask

__all__ = [
    "AgentKind",
    "AgentStatus",
    "Asker",
    "DynamicAgentSettings",
    "EventBus",
    "NewAgent",
    "NewTask",
    "Origin",
    "Overview",
    "Run",
    "RunId",
    "RunState",
    "Services",
    "SessionId",
    "Sessions",
    "Settings",
    "StopReason",
    "SubAgentConfig",
    "SubAgentError",
    "SubAgentManager",
    "Turn",
    "TurnEnd",
    "WaitOutcome",
]
