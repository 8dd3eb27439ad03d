"""What a call of the `task` tool says of one of its tasks, as it is kept with the run."""

from dataclasses import dataclass
from enum import StrEnum


class AgentType(StrEnum):
    """How an unnamed copy works; `runs/phases.py` holds what each kind does."""

    REACT = "react"
    REFLECTION = "reflection"
    PLAN = "plan"
    SIMPLE = "simple"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskShape:
    """How a run of the `task` tool is to be carried out."""

    label: str
    """The task's id in its call."""
    position: int
    """Its place in its call, from 0."""
    agent_type: AgentType = AgentType.REACT
    tool_filter: str = ""
    """Name of the filter on its tools; "" is none, for a named agent."""
    max_steps: int = 0
    """Model calls that it may make; 0 is the setting."""
