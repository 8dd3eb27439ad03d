"""AstrBot's tools outside a turn: those of plugins and MCP servers behind its guard, and its own.

AstrBot checks a tool's schema each time a guard is made, which takes milliseconds for each tool, so
guards are kept as long as their tools are registered. Nothing here decides who gets what.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from astrbot.api import FunctionTool
from astrbot.api.star import Context
from astrbot.core.agent.mcp_client import MCPTool
from astrbot.core.astr_agent_tool_exec import FunctionToolExecutor
from astrbot.core.star.star import star_map
from astrbot.core.tools import registry

from ..manager.models import SessionId
from .host_settings import read_agent_settings


class HostTools:
    """Looks tools up in AstrBot's tool manager."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._manager = context.get_llm_tool_manager()
        self._guards: dict[str, FunctionTool] = {}
        """By name; each wraps the tool that was registered when it was made."""

    def all(self, session: SessionId | None) -> dict[str, FunctionTool]:
        """Every active tool that AstrBot offers in a chat, by name; None is the default chat."""
        config = self._config(session)
        tools = {**self._of_plugins(config), **self._built_in(config), **self._computer(config)}
        return {name: tool for name, tool in tools.items() if is_active(tool)}

    def of_persona(self, session: SessionId | None, persona_id: str) -> dict[str, FunctionTool]:
        """As `all`, without the plugins' tools that a persona does not list."""
        registered = self.registered()
        persona = self._context.persona_manager.get_persona_v3_by_id(persona_id or None)
        listed = persona.get("tools") if persona else None
        if persona_id and not persona:
            # gone meanwhile, and with it what it allowed
            listed = []
        return {
            name: tool
            for name, tool in self.all(session).items()
            if listed is None or name in listed or name not in registered
        }

    def guarded(
        self, tool: FunctionTool, registered: Mapping[str, FunctionTool]
    ) -> FunctionTool | None:
        """The tool as a child may call it: behind the guard, if it is a plugin's or MCP server's.

        Args:
            tool: From the main agent's tool set, behind the guard or not.
            registered: See `registered`.

        Returns:
            None when it came from a plugin or server that is gone.
        """
        known, inner = registered.get(tool.name), wrapped_tool(tool)
        if inner is None and tool is not known and not _is_foreign(tool):
            return tool
        if known is None:
            return None
        return tool if inner is known else self._guard(known)

    def registered(self) -> dict[str, FunctionTool]:
        """The tools of plugins and MCP servers as they are now, unguarded, by name."""
        # As in AstrBot, an active tool goes before an inactive one, then a later one before an
        # earlier (`get_full_tool_set` in core/provider/func_tool_manager.py).
        tools: dict[str, FunctionTool] = {}
        for tool in self._manager.func_list:
            if tool.active or tool.name not in tools or not tools[tool.name].active:
                tools[tool.name] = tool
        return tools

    def _guard(self, tool: FunctionTool) -> FunctionTool:
        guard = self._guards.get(tool.name)
        if guard is None or wrapped_tool(guard) is not tool:
            self._guards = {each.name: each for each in self._manager.get_full_tool_set()}
        return self._guards[tool.name]

    def _of_plugins(self, config: Mapping[str, Any]) -> dict[str, FunctionTool]:
        plugins = config.get("plugin_set", ["*"])
        return {
            name: self._guard(tool)
            for name, tool in self.registered().items()
            if plugins == ["*"] or _is_in_profile(tool, plugins)
        }

    def _built_in(self, config: Mapping[str, Any]) -> dict[str, FunctionTool]:
        return {name: self._manager.get_builtin_tool(name) for name in _switched_on(config)}

    def _computer(self, config: Mapping[str, Any]) -> dict[str, FunctionTool]:
        settings = read_agent_settings(config)
        # Private, but the only place that knows which computer tools a runtime has; without it
        # those that are named in the registry are found all the same.
        find = getattr(FunctionToolExecutor, "_get_runtime_computer_tools", None)
        if find is None:
            return {}
        return dict(find(settings.computer_runtime, self._manager, settings.sandbox_booter))

    def _config(self, session: SessionId | None) -> Mapping[str, Any]:
        config: Mapping[str, Any] = self._context.get_config(umo=session)
        return config


def wrapped_tool(tool: FunctionTool) -> FunctionTool | None:
    """The tool inside AstrBot's permission guard; None when this is no guard."""
    return getattr(tool, "_wrapped", None)


def is_active(tool: FunctionTool) -> bool:
    """Whether a tool is switched on now; a guard remembers how it was when it was made."""
    return bool(getattr(wrapped_tool(tool) or tool, "active", True))


def _switched_on(config: Mapping[str, Any]) -> Iterator[str]:
    """Names of AstrBot's own tools that a configuration switches on."""
    for tool_class in registry.iter_builtin_tool_classes():
        name = registry.get_builtin_tool_name(tool_class)
        rule = registry.get_builtin_tool_config_rule(name) if name else None
        conditions = rule.evaluate(config) if rule else ()
        if conditions and all(condition.get("matched") for condition in conditions):
            yield name


def _is_foreign(tool: FunctionTool) -> bool:
    """Whether it belongs to a plugin or an MCP server, registered or not any more."""
    return bool(tool.handler_module_path) or isinstance(tool, MCPTool)


def _is_in_profile(tool: FunctionTool, plugins: object) -> bool:
    # As `_plugin_tool_fix` in AstrBot's core/astr_main_agent.py: what belongs to no plugin stays.
    plugin = star_map.get(tool.handler_module_path) if tool.handler_module_path else None
    if plugin is None or plugin.reserved:
        return True
    return isinstance(plugins, list) and plugin.name in plugins
