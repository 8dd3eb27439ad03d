"""Replies that show one page each: overview, session, timeline, catalog, settings, usage."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from ..manager.models import RunKind, RunState
from .replies import AgentCard, Json, Reply, RunRow, SessionRow, Text, Time, UsageReply


class Totals(Reply):
    """How many there are."""

    sessions: int
    agents: int
    """Dynamic ones."""
    running: int
    queued: int
    waiting: int
    finished_today: int
    """Completed."""
    failed_today: int
    """Failed or timed out."""


class Today(Reply):
    """What was begun today (UTC)."""

    runs: int
    usage: UsageReply


class Limits(Reply):
    """How many runs may be at work at once."""

    max_parallel_per_session: int
    max_parallel_total: int


class StoreFacts(Reply):
    """Where all of it is kept."""

    kind: Literal["sqlite", "postgresql"]
    last_event_id: int
    """The stream may be read from here on without missing what this reply does not show."""


class Overview(Reply):
    """The bot at a glance."""

    version: str
    started_at: Time
    totals: Totals
    today: Today
    limits: Limits
    live: list[RunRow]
    """At work or waiting for an answer, newest first, at most 50."""
    queue: list[RunRow]
    """In the line, the next one first, at most 50."""
    failures: list[RunRow]
    """Of the last 24 hours, newest first, at most 20."""
    store: StoreFacts


class SessionLimits(Reply):
    """What there is still room for."""

    max_dynamic_subagent_count: int
    free_agents: int
    max_parallel_per_session: int
    free_places: int


class MemorySwitch(Reply):
    """Whether agents remember."""

    on: bool
    own: bool | None
    """The session's own switch; null follows the settings."""


class BoardSwitch(MemorySwitch):
    """Whether agents share a board."""

    notes: int


class Switches(Reply):
    """What a session switches by itself."""

    memory: MemorySwitch
    board: BoardSwitch


class SessionPage(Switches):
    """One session."""

    session: SessionRow
    agents: list[AgentCard]
    limits: SessionLimits


class TimelineRun(Reply):
    """One run as a bar."""

    run_id: Text
    agent: Text | None
    kind: RunKind
    state: RunState
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    waits: list[tuple[Time, Time | None]]
    """When it waited for an answer; null: it still does."""
    depends_on: list[Text]
    group_id: Text | None
    input: Text
    """Its beginning."""


class Timeline(Reply):
    """The runs of some time, oldest first."""

    items: list[TimelineRun]
    now: Time


class ToolChoice(Reply):
    """A tool that a sub-agent may be given."""

    name: Text
    description: Text


class ProviderChoice(Reply):
    """A chat model."""

    id: Text
    model: Text


class Choices(Reply):
    """What an agent can be made of."""

    tools: list[ToolChoice]
    skills: list[Text]
    providers: list[ProviderChoice]
    personas: list[Text]
    filters: list[Text]


class Choice(Reply):
    """One value that a setting can have."""

    value: str
    title: dict[str, Text]


class SettingField(Reply):
    """What a form needs to know of one setting."""

    model_config = ConfigDict(extra="ignore")

    key: str
    """Dotted."""
    type: Literal[
        "bool", "int", "float", "text", "long_text", "choice", "list", "entries", "secret"
    ]
    default: Any
    group: str
    title: dict[str, Text]
    """By locale."""
    hint: dict[str, Text]
    choices: list[Choice] | None = None
    minimum: float | int | None = None
    maximum: float | int | None = None
    fields: list["SettingField"] | None = None
    """Of one entry."""


Form = Annotated[
    Json, WithJsonSchema({"$ref": "#/components/schemas/SettingField"}, mode="serialization")
]
"""A `SettingField` without the keys that it has no use for; see `form`."""


def form(field: Mapping[str, Any]) -> dict[str, Any]:
    """A field as it is replied, checked."""
    return SettingField.model_validate(field).model_dump(mode="json", exclude_unset=True)


class SettingProblem(Reply):
    """What is wrong with a setting as it is."""

    key: str
    text: Text


class SettingsPage(Reply):
    """All settings."""

    values: Json
    """Nested; of a secret only `{"is_set": bool}`."""
    forms: list[Form] = Field(serialization_alias="schema")
    problems: list[SettingProblem]
    restart_needed: list[str]
    """Keys of changed settings that count only after a reload of the plugin."""
    revision: str
    """Goes with a saving, which is refused when somebody else has saved since."""


class StaticAgentsPage(Reply):
    """The static agents."""

    items: list[Json]
    """Those too that cannot be used as they stand. Each has a tag `etag`: sent back with it, and
    otherwise as it is here, an entry stays as it stands in the configuration."""
    problems: list[SettingProblem]
    """What cannot be used, by `items.<index>.<key>`; the default is shown there."""
    revision: str
    """Goes with a saving, which is refused when somebody else has saved since."""
    core: list[Json]
    """The platform's own, which are changed there."""
    forms: list[Form] = Field(serialization_alias="schema")


class DayUsage(Reply):
    """One day (UTC)."""

    day: str
    runs: int
    failed: int
    input: int
    cached: int
    output: int


class AgentUsage(Reply):
    """One agent; "" is the unnamed copies."""

    agent: Text
    runs: int
    failed: int
    usage: UsageReply


class ModelUsage(Reply):
    """One model."""

    model: Text
    runs: int
    usage: UsageReply


class SessionUsage(Reply):
    """One session."""

    session: Text
    title: Text
    runs: int
    usage: UsageReply


class UsagePage(Reply):
    """What was used."""

    days: list[DayUsage]
    """Every day, oldest first."""
    agents: list[AgentUsage]
    models: list[ModelUsage]
    sessions: list[SessionUsage]
