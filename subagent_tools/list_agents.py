"""`list_subagents`: who there is and what they do."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from ..manager import AgentStatus, RunId
from .arguments import Arguments
from .reports import one_line, progress
from .spec import CallContext, ToolSpec


class ListArguments(Arguments):
    """What `list_subagents` takes."""

    include_status: Annotated[bool, Field(description="false: names and descriptions only.")] = True


async def list_agents(context: CallContext, arguments: ListArguments) -> str:
    """All agents of the session, then limits and free places."""
    manager = context.manager
    overview = await manager.overview()
    blocks = [
        _block(status, full=arguments.include_status, positions=manager.runs.position)
        for status in overview.agents
    ]
    settings = manager.settings
    if not blocks:
        blocks.append("There are no sub-agents here.")
    blocks.append(
        f"Free: {overview.free_agents} of {settings.dynamic_agents.max_dynamic_subagent_count} "
        f"sub-agents, {overview.free_places} tasks at once."
    )
    return "\n\n".join(blocks)


def _block(status: AgentStatus, *, full: bool, positions: Callable[[RunId], int | None]) -> str:
    config = status.config
    marks = f"{config.kind}, {'protected' if config.protected else 'unprotected'}"
    head = f"{config.name} ({marks}): {one_line(config.description, 2_000) or 'no description'}"
    if not full:
        return head
    runs = (*status.running, *status.queued)
    lines = [
        head,
        f"  owner: {config.owner or 'the bot'}",
        f"  status: {_doing(status)}",
        *(f"  {progress(run, position=positions(run.run_id))}" for run in runs),
        f"  tools: {_names(config.tools)}",
        f"  skills: {_names(config.skills)}",
        f"  model: {config.provider_id or 'default'}",
        f"  memory: {status.memory_messages} messages",
    ]
    return "\n".join(lines)


def _doing(status: AgentStatus) -> str:
    if status.running:
        return "running"
    return "queued" if status.queued else "idle"


def _names(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "all"
    return ", ".join(names) or "none"


LIST = ToolSpec(
    name="list_subagents",
    description="List the sub-agents of this chat: what they are for, their tools, what they are "
    "doing now with task ids, and how many more you may make.",
    arguments=ListArguments,
    handler=list_agents,
)
