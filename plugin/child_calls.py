"""How a child's tool calls run: through AstrBot's executor, other plugins' hooks and its guard.

It knows of each call whether it ended well and what it made, told from objects and never from
texts. It does not tell the core: a hook's exception is swallowed by AstrBot, so `child_run` does.
"""

import base64
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from astrbot.api import FunctionTool, logger
from astrbot.core.agent.tool_image_cache import tool_image_cache
from astrbot.core.astr_agent_hooks import MAIN_AGENT_HOOKS
from astrbot.core.astr_agent_tool_exec import FunctionToolExecutor
from astrbot.core.utils.astrbot_path import get_astrbot_temp_path
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
)

from ..manager.models import Artifact, RunId
from .child_texts import fitting
from .fork_tools import refusal
from .host_tools import wrapped_tool
from .own_tools import OwnTool
from .shared_answers import SharedAnswers
from .spared_arguments import spare

type Permissions = SharedAnswers[tuple[str, ...], Any]
"""Refusals of AstrBot's guard, None where there is none."""

_NO_TEXT = "The tool returned no text; it may have answered the user directly."


@dataclass(slots=True, kw_only=True)
class OpenCall:
    """The tool call that runs now; a child's calls run one after another."""

    call_id: str
    """Unique in its step."""
    name: str
    ended_well: bool = False
    artifacts: list[Artifact] = field(default_factory=list)


class ChildCalls:
    """The runner's hooks and tool executor for one child."""

    def __init__(
        self,
        run_id: RunId,
        runner: Any,
        *,
        longest: int | None = None,
        refuse: Callable[[FunctionTool], str],
        permissions: Permissions,
    ) -> None:
        """Set them up.

        Args:
            run_id: Names what tools make.
            runner: The child's runner.
            longest: Characters of a result; None when AstrBot itself keeps results short.
            refuse: Why a tool may not be called; "" lets it be called.
            permissions: What AstrBot's guard says, shared with all children of the bot.
        """
        self._run_id = run_id
        self._longest = longest
        self._refuse = refuse
        self._permissions = permissions
        self._runner = runner
        self._files = 0
        self.open: OpenCall | None = None
        """Set by `child_run` when a call begins."""

    async def on_agent_begin(self, run_context: Any) -> None:
        """Keep other plugins from taking the child for the turn's main agent."""

    async def on_agent_done(self, run_context: Any, llm_response: Any) -> None:
        """As `on_agent_begin`."""

    async def on_tool_start(
        self, run_context: Any, tool: FunctionTool, tool_args: dict[str, Any] | None
    ) -> None:
        """Let other plugins see the call before it runs, and stop the child by its event."""
        await MAIN_AGENT_HOOKS.on_tool_start(run_context, tool, tool_args)
        if isinstance(tool, OwnTool):
            spare(tool_args)
        if run_context.context.event.is_stopped():
            self._runner.request_stop()

    async def on_tool_end(
        self,
        run_context: Any,
        tool: FunctionTool,
        tool_args: dict[str, Any] | None,
        tool_result: CallToolResult | None,
    ) -> None:
        """Take down how the call ended; AstrBot does not call this after an exception."""
        if self.open is not None and tool_result is not None:
            self.open.ended_well = not tool_result.isError
            self.open.artifacts.extend(self._save(tool.name, tool_result))
        await MAIN_AGENT_HOOKS.on_tool_end(run_context, tool, tool_args, tool_result)

    async def execute(
        self, /, tool: FunctionTool, run_context: Any, **tool_args: Any
    ) -> AsyncGenerator[CallToolResult]:
        """Run a tool; yields exactly one result.

        AstrBot's executor yields none for a tool that answers the user itself, which would end the
        child without an answer, and several for a generator, which providers refuse.
        """
        if why := self._refuse(tool):
            yield refusal(tool.name, why)
            return
        if isinstance(tool, OwnTool):
            # not by AstrBot's executor, whose time limit does not count for these
            yield fitting(await tool.call(run_context, **tool_args), self._longest)
            return
        inner, refused = await _through_guard(tool, run_context, self._permissions)
        if refused is not None:
            yield refused
            return
        if inner is not tool:
            tool_args = _expected(inner, tool_args)
        async with aclosing(
            FunctionToolExecutor.execute(inner, run_context, **tool_args)
        ) as running:
            results = [result or _text(_NO_TEXT) async for result in running]
        yield fitting(_as_one(results), self._longest)

    def _save(self, tool_name: str, result: CallToolResult) -> Iterator[Artifact]:
        for item in result.content:
            try:
                artifact = self._artifact(tool_name, item)
            except (OSError, ValueError):
                logger.exception("What the tool %s made could not be saved", tool_name)
            else:
                if artifact is not None:
                    yield artifact

    def _artifact(self, tool_name: str, item: Any) -> Artifact | None:
        if isinstance(item, ImageContent):
            return self._image(tool_name, item.data, item.mimeType)
        if not isinstance(item, EmbeddedResource):
            return None
        resource = item.resource
        if not isinstance(resource, BlobResourceContents):
            return None
        if (resource.mimeType or "").startswith("image/"):
            return self._image(tool_name, resource.blob, resource.mimeType)
        return self._file(resource)

    def _image(self, tool_name: str, data: str, mime_type: str | None) -> Artifact:
        # AstrBot's own copy is named after the call's id, which some providers use again and again
        saved = tool_image_cache.save_image(
            base64_data=data,
            tool_call_id=self._next_name(),
            tool_name=tool_name,
            mime_type=mime_type or "image/png",
        )
        return Artifact(kind="image", path=saved.file_path, name=Path(saved.file_path).name)

    def _file(self, resource: BlobResourceContents) -> Artifact:
        name = PurePosixPath(urlsplit(str(resource.uri)).path).name or "file"
        folder = Path(get_astrbot_temp_path()) / "tool_files"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._next_name()}{PurePosixPath(name).suffix}"
        path.write_bytes(base64.b64decode(resource.blob))
        return Artifact(kind="file", path=str(path), name=name)

    def _next_name(self) -> str:
        self._files += 1
        return f"{self._run_id}_{self._files}"


async def _through_guard(
    tool: FunctionTool, run_context: Any, permissions: Permissions
) -> tuple[FunctionTool, CallToolResult | None]:
    """Ask AstrBot's permission guard, and take the tool out of it.

    The guard answers a refusal as if the tool had said it, and in 4.26.0 it hands plugins' tools
    the wrong first argument (`_PermissionGuardedTool.call` in core/provider/func_tool_manager.py).

    Returns:
        What to run, and the refusal, if any. A guard of another make is run as it is.
    """
    inner = wrapped_tool(tool)
    check = getattr(getattr(tool, "_mgr", None), "_check_tool_permission", None)
    # AstrBot's executor would leave a background tool running, with nobody to own it
    if inner is None or check is None or inner.is_background_task:
        return tool, None

    async def look() -> Any:
        refusal = check(tool.name, run_context)
        return await refusal if inspect.isawaitable(refusal) else refusal

    event = run_context.context.event
    # what the guard may decide on: where, who, with which rights, which tool
    asked = (event.unified_msg_origin, event.get_sender_id(), event.role, tool.name)
    refusal = await permissions.ask(asked, look)
    return inner, None if refusal is None else _text(str(refusal), is_error=True)


def _expected(tool: FunctionTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a plugin's function does not take, as AstrBot does without a guard."""
    if tool.handler is None:
        return arguments
    known = (tool.parameters or {}).get("properties") or {}
    return {name: value for name, value in arguments.items() if name in known}


def _as_one(results: list[CallToolResult]) -> CallToolResult:
    if len(results) == 1:
        return results[0]
    content = [item for result in results for item in result.content]
    return CallToolResult(
        content=content or [TextContent(type="text", text="The tool returned nothing.")],
        isError=any(result.isError for result in results),
    )


def _text(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], isError=is_error)
