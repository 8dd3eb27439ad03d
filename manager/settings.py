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
    "answer_subagent",
    "send_shared_context_for_main_agent",
    "view_shared_context",
    "transfer_to_subagent",
    "task",
)

type Handoff = Literal["per_agent", "single"]
type FilterMode = Literal["whitelist", "blacklist"]
type OnTurnInterrupted = Literal["cancel", "keep"]
type DeliveryMode = Literal["wake", "relay"]
type ProgressMessages = Literal["off", "brief", "steps"]
type Language = Literal["auto", "en-US", "zh-CN", "ru-RU"]


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
class CustomFilterSettings:
    """One tool filter that the bot's owner configured."""

    name: str
    mode: FilterMode = "whitelist"
    allowed: tuple[str, ...] = ()
    """Exact names of tools; only `whitelist` looks at them."""
    denied: tuple[str, ...] = ()
    """Names of tools; they go before `allowed` in either mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """The tool `task`: many runs by one call, and which tools they may use."""

    enabled: bool = True
    default_tool_filter: str = "readonly"
    """A built-in filter or one of `custom_filters`."""
    max_tasks_per_call: int = 16
    """At least 1."""
    readonly_extra: tuple[str, ...] = ()
    """Further tools that only read, by their exact names."""
    full_denied_extra: tuple[str, ...] = ()
    """Further tools that the filter `full` refuses."""
    custom_filters: tuple[CustomFilterSettings, ...] = ()
    trusted_mcp_servers: tuple[str, ...] = ()
    """Servers whose word counts that a tool of theirs only reads."""
    inherit_tools: bool = True
    """Fresh copies have the asker's tools; false: only `extra_tools`."""
    extra_tools: tuple[str, ...] = ()
    """Tools that fresh copies get in any case, as far as the asker may use them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """How the results of background runs reach the user."""

    mode: DeliveryMode = "wake"
    """`wake`: the model gets a turn for them; `relay`: they are sent as they are."""
    max_attempts: int = 5
    """At least 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """How long the records of ended runs are kept; in days, 0 keeps them for ever."""

    events_days: int = 3
    steps_days: int = 7
    runs_days: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersSettings:
    """Several processes that share a PostgreSQL store and the work in it."""

    enabled: bool = False
    pinned_tools: tuple[str, ...] = ("send_message_to_user", "future_task")
    """A run that may call one of these is executed where its chat comes in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardSettings:
    """The page by itself, served beside AstrBot's WebUI."""

    enabled: bool = False
    host: str = "127.0.0.1"
    """A host name or an address to listen at; other than this machine's own needs a token."""
    port: int = 6190
    """1 to 65535."""
    token: str = field(default="", repr=False)
    """Secret: never shown, logged or exported. "" is one that the server makes by itself."""


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
    task: TaskSettings = field(default_factory=TaskSettings)
    questions_enabled: bool = True
    """A run may ask who gave it its task."""
    question_timeout: float = 600
    """Seconds that a question waits for its answer, at least 1."""
    on_turn_interrupted: OnTurnInterrupted = "cancel"
    """What becomes of the foreground runs of a stopped turn; background ones go on."""
    delivery: DeliverySettings = field(default_factory=DeliverySettings)
    progress_messages: ProgressMessages = "off"
    """`brief`: start, trouble and end of a run; `steps`: its steps as well."""
    language: Language = "auto"
    """Of messages to people; `auto`: the one that the people of a chat write in."""
    resume_on_restart: bool = True
    """Runs that a restart broke off are taken up again."""
    workdir_roots: tuple[str, ...] = ()
    """Further folders in which sub-agents may work; absolute."""
    session_expiry_days: int = 30
    """0 keeps sessions for ever."""
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    database_url: str = field(default="", repr=False)
    """Secret: never shown, logged or exported. "" is SQLite in the data folder."""
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    workers: WorkersSettings = field(default_factory=WorkersSettings)


SECRETS = frozenset({"database_url", "dashboard.token"})
"""Keys whose values are written and never shown."""
