"""What the core's tool filters may know of AstrBot's tools.

AstrBot's own tools do not say what they do, so what is known of them stands here in two tables; MCP
servers give hints, of which the core believes as much as the bot's owner trusts them. Of plugins'
tools nothing is known but their names, so the tables speak only of objects that AstrBot made.
"""

from collections.abc import Container
from typing import Any

from astrbot.api import FunctionTool
from astrbot.core.tools import registry

from ..manager.tool_filter import ToolFacts
from .host_tools import wrapped_tool

READ_ONLY = frozenset(
    {
        "astr_kb_search",
        "astrbot_file_read_tool",
        "astrbot_get_execution_history",
        "astrbot_get_skill_payload",
        "astrbot_grep_tool",
        "astrbot_list_skill_candidates",
        "astrbot_list_skill_releases",
        "deepseek_fetch_web_page",
        "exa_get_contents",
        "finance_search_serpapi",
        "firecrawl_extract_web_page",
        "get_group_message_history",
        "image_search_serpapi",
        "scholar_search_serpapi",
        "tavily_extract_web_page",
        "web_search_anysearch",
        "web_search_baidu",
        "web_search_bocha",
        "web_search_brave",
        "web_search_deepseek",
        "web_search_exa",
        "web_search_firecrawl",
        "web_search_serpapi",
        "web_search_tavily",
    }
)
"""AstrBot's own tools that change nothing."""

_RUNS_CODE = frozenset(
    {
        "astrbot_cua_keyboard_type",
        "astrbot_cua_mouse_click",
        "astrbot_execute_browser",
        "astrbot_execute_browser_batch",
        "astrbot_execute_ipython",
        "astrbot_execute_python",
        "astrbot_execute_shell",
        "astrbot_run_browser_skill",
        "astrbot_shell_session",
    }
)
"""AstrBot's own tools that run what the model writes, or work a computer by hand."""


def tool_facts(tool: FunctionTool, registered: Container[str]) -> ToolFacts:
    """What is known of a tool.

    Args:
        tool: Behind AstrBot's guard or not.
        registered: Names of the tools of plugins and MCP servers: one of them may have the name of
            one of AstrBot's own, and then the table of what only reads does not speak of it.
    """
    inner: Any = wrapped_tool(tool) or tool
    is_own = tool.name not in registered and _is_astrbots(inner, tool.name)
    hints = getattr(getattr(inner, "mcp_tool", None), "annotations", None)
    return ToolFacts(
        name=tool.name,
        reads_only=is_own and tool.name in READ_ONLY,
        runs_code=tool.name in _RUNS_CODE,
        server=str(getattr(inner, "mcp_server_name", "") or ""),
        read_only_hint=getattr(hints, "readOnlyHint", None) is True,
        destructive_hint=getattr(hints, "destructiveHint", None) is True,
    )


def _is_astrbots(tool: FunctionTool, name: str) -> bool:
    """Whether AstrBot made the tool that it has under this name.

    A plugin can put a tool of any name into a request without registering it, and its own handler
    into one of AstrBot's.
    """
    return registry.get_builtin_tool_name(type(tool)) == name and tool.handler is None
