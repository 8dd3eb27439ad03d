"""Which tools a run of the tool `task` may use.

A filter is asked twice, when the tools of a run are listed and when one is called, and both times
`ToolFilter.is_allowed` answers. Filters fail closed: they allow by exact names and by what is known
of a tool, and deny widely. They are no sandbox: a server may give a dangerous tool a harmless name.
Where the facts come from is the host's business; nothing here knows a platform. Used by the tool
`task`, and by the host, which lists and calls the tools of its runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from .errors import UnknownReference
from .settings import CustomFilterSettings, TaskSettings
from .tool_words import is_named, says_that_it_runs_code

BUILT_IN_FILTERS: Final = ("readonly", "full", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What a filter knows of a tool."""

    name: str
    reads_only: bool = False
    """The host's own table says that it only reads."""
    runs_code: bool = False
    """The host's own table says that it is a shell, a terminal, or else runs code."""
    server: str = ""
    """The MCP server it comes from; "" is none."""
    read_only_hint: bool = False
    """What its server says of it; False when it says nothing."""
    destructive_hint: bool = False
    """What its server says of it; False when it says nothing."""


class ToolFilter(Protocol):
    """A rule on which tools a run may use."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """What the settings and the model call it."""
        ...

    def is_allowed(self, tool: ToolFacts) -> bool:
        """Tell whether a run under this filter may use the tool."""
        ...

    def filter(self, tools: Iterable[ToolFacts]) -> list[ToolFacts]:
        """Return the allowed tools, in their order."""
        # once, for all filters: what is listed and what may be called cannot differ
        return [tool for tool in tools if self.is_allowed(tool)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnly(ToolFilter):
    """`readonly`: only tools that are known to read."""

    extra: frozenset[str] = frozenset()
    """Exact names of tools of which the bot's owner says that they only read."""
    trusted_servers: frozenset[str] = frozenset()
    """MCP servers that are believed when they say so."""

    @property
    def name(self) -> str:
        """The name of this built-in filter."""
        return "readonly"

    def is_allowed(self, tool: ToolFacts) -> bool:
        """Allow what the host's table, the bot's owner, or a trusted server says only reads."""
        if tool.runs_code or tool.destructive_hint:
            return False
        is_trusted = tool.server != "" and tool.server in self.trusted_servers
        return tool.reads_only or tool.name in self.extra or (is_trusted and tool.read_only_hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullAccess(ToolFilter):
    """`full`: all tools but those that run code or destroy, by what is known or their name says."""

    denied: frozenset[str] = frozenset()
    """Names of further tools that it refuses."""

    @property
    def name(self) -> str:
        """The name of this built-in filter."""
        return "full"

    def is_allowed(self, tool: ToolFacts) -> bool:
        """Allow a tool of which nothing says that it is dangerous."""
        if tool.runs_code or tool.destructive_hint or is_named(tool.name, self.denied):
            return False
        return not says_that_it_runs_code(tool.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(ToolFilter):
    """A filter that the bot's owner configured."""

    settings: CustomFilterSettings

    @property
    def name(self) -> str:
        """The name in the settings."""
        return self.settings.name

    def is_allowed(self, tool: ToolFacts) -> bool:
        """Allow what the lists say; a denied name goes before an allowed one."""
        if is_named(tool.name, self.settings.denied):
            return False
        if self.settings.mode == "blacklist":
            return not tool.destructive_hint
        # named by the owner, one by one: the hint of its server is known to them
        return tool.name in self.settings.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFilter(ToolFilter):
    """`none`: all tools that the run has."""

    @property
    def name(self) -> str:
        """The name of this built-in filter."""
        return "none"

    def is_allowed(self, tool: ToolFacts) -> bool:
        """Allow every tool."""
        return True


NO_FILTER: Final = NoFilter()


def find_filter(name: str, settings: TaskSettings) -> ToolFilter:
    """Find a filter.

    Args:
        name: A built-in filter or a custom one; exact, with its capitals.
        settings: Where the custom filters and the lists of the built-in ones are.

    Raises:
        UnknownReference: No filter is called so; it lists those that there are.
    """
    match name:
        case "readonly":
            extra, trusted = settings.readonly_extra, settings.trusted_mcp_servers
            return ReadOnly(extra=frozenset(extra), trusted_servers=frozenset(trusted))
        case "full":
            return FullAccess(denied=frozenset(settings.full_denied_extra))
        case "none":
            return NO_FILTER
    custom = {each.name: each for each in settings.custom_filters}
    if name not in custom:
        raise UnknownReference("tool filter", [name], {*BUILT_IN_FILTERS, *custom})
    return Custom(settings=custom[name])
