"""A real MCP server over stdio, with tools that say what they do; it is also run as a program."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

HINTS: dict[str, dict[str, bool]] = {
    "look": {"readOnlyHint": True},
    "wipe": {"readOnlyHint": True, "destructiveHint": True},
    "touch": {"readOnlyHint": False, "destructiveHint": False},
    "mumble": {},
}
"""What it says of its tools."""


@asynccontextmanager
async def mcp_server(bot: Any, name: str) -> AsyncIterator[None]:
    """Let AstrBot have this server, under this name, for as long as the block lasts."""
    manager = bot.context.get_llm_tool_manager()
    config = {"command": sys.executable, "args": [__file__]}
    # in a task of its own, as AstrBot's WebUI does: in 4.26 the end of a server cancels that task
    await asyncio.create_task(manager.enable_mcp_server(name, config))
    try:
        yield
    finally:
        await manager.disable_mcp_server(name)


def _serve() -> None:
    from mcp.server.fastmcp import FastMCP
    from mcp.types import ToolAnnotations

    server = FastMCP("files")
    for name, hints in HINTS.items():
        server.add_tool(_tool(name), name=name, annotations=ToolAnnotations.model_validate(hints))
    server.run()


def _tool(name: str) -> Callable[[], str]:
    def run() -> str:
        """Say that it ran."""
        return f"{name} is done."

    return run


if __name__ == "__main__":
    _serve()
