"""The settings of the product, frozen; the one source of every default.

`plugin/config.py` makes them from what AstrBot hands over; runs keep the settings they began
with. 0 is a value: it is never turned into a default.
"""

from dataclasses import dataclass, field
from typing import Literal

DEFAULT_RULE_PROMPT = (
    "Follow the safety rules of the platform you run on.\n"
    "Put long output into a file and give a short summary with the file's path.\n"
    "Mark every file you make with your name and the time.\n"
    "Answer exactly what was asked. Say what you did not do, and why."
)

MANAGEMENT_TOOLS = (
    "create_subagent",
    "remove_subagent",
    "list_subagents",
    "reset_subagent",
    "protect_subagent",
    "unprotect_subagent",
    "wait_for_subagent",
    "cancel_subagent_task",
    "read_subagent_result",
    "send_shared_context_for_main_agent",
    "view_shared_context",
    "transfer_to_subagent",
)

type Handoff = Literal["per_agent", "single"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicAgentSettings:
    """Agents that the main model makes."""

    enabled: bool = True
    max_dynamic_subagent_count: int = 3
    """Per session, at least 0; static agents do not count."""
    auto_cleanup_per_turn: bool = True
    rule_prompt: str = DEFAULT_RULE_PROMPT
    tools_blacklist: tuple[str, ...] = MANAGEMENT_TOOLS
    tools_inherent: tuple[str, ...] = ("astrbot_execute_shell", "astrbot_execute_python")
    default_provider_id: str = ""
    """"" is the session's own chat provider."""
    handoff: Handoff = "per_agent"
    """`single`: one fixed tool for all agents, so that the tool list never changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticAgentSettings:
    """One agent that the bot's owner configured."""

    name: str
    description: str = ""
    system_prompt: str = ""
    persona_id: str = ""
    """A persona of the bot that gives instructions, opening dialogue and tools; "" is none."""
    tools: tuple[str, ...] | None = ()
    """None is all that the asker may use."""
    skills: tuple[str, ...] | None = None
    """None is all active ones."""
    provider_id: str = ""
    workdir: str = ""
    personas: tuple[str, ...] = ()
    """Personas of the bot that may use it; empty is all."""
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set, with its default."""

    enabled: bool = True
    dynamic_agents: DynamicAgentSettings = field(default_factory=DynamicAgentSettings)
    static_agents: tuple[StaticAgentSettings, ...] = ()
    manage_core_subagents: bool = True
    """Take over AstrBot's own static sub-agents."""
    remove_main_duplicate_tools: bool = False
    """Hide from the main agent the tools that static agents have by name."""
    router_system_prompt: str = ""
    """Replaces our router prompt; "" keeps ours."""
    time_prompt_enabled: bool = True
    history_enabled: bool = True
    subagent_history_maxlen: int = 300
    """Messages, at least 0."""
    tool_result_maxlen: int = 2000
    """Characters of an old tool result, at least 0."""
    shared_context_enabled: bool = True
    shared_context_maxlen: int = 300
    """Notes on the board, at least 1; when it is full the newest nine tenths stay."""
    execution_timeout: float = 1200
    """Seconds; 0 is no limit."""
    idle_timeout: float = 300
    """Seconds; 0 is no limit."""
    max_steps: int = 30
    """Model calls per run, at least 1."""
    token_budget_per_run: int = 0
    """Tokens; 0 is no limit."""
    token_budget_per_session_day: int = 0
    """Tokens; 0 is no limit."""
    max_parallel_per_session: int = 16
    max_parallel_total: int = 64
    starts_per_turn: int = 16
    same_call_limit: int = 3
    """The same failing tool call in a row; at least 1."""
    result_maxlen: int = 8000
    """Characters of a result shown to the main agent, at least 200."""
    workdir_roots: tuple[str, ...] = ()
    """Further folders in which sub-agents may work; absolute."""
    session_expiry_days: int = 30
    """0 keeps sessions for ever."""
    database_url: str = ""
    """Secret: never shown, logged or exported. "" is SQLite in the data folder."""
