"""`list_subagents`: who there is and what they do."""

from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import Field

from ..manager import AgentKind, AgentStatus, Run, SubAgentConfig
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

    def line(run: Run) -> str:
        words = manager.may_read(run, context.turn.asker)
        return progress(run, position=manager.runs.position(run.run_id), words=words)

    blocks = [
        "\n".join(_block(status, line) if arguments.include_status else (_head(status.config),))
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


def _head(config: SubAgentConfig) -> str:
    safe = config.protected or config.kind is AgentKind.STATIC
    marks = f"{config.kind}, {'protected' if safe else 'unprotected'}"
    return f"{config.name} ({marks}): {one_line(config.description, 2_000) or 'no description'}"


def _block(status: AgentStatus, line: Callable[[Run], str]) -> Iterator[str]:
    config = status.config
    yield _head(config)
    yield f"  owner: {config.owner or 'the bot'}"
    yield f"  status: {_doing(status)}"
    for run in (*status.running, *status.queued):
        yield f"  {line(run)}"
    yield f"  tools: {_names(config.tools)}"
    yield f"  skills: {_names(config.skills)}"
    yield f"  model: {config.provider_id or 'default'}"
    yield f"  memory: {status.memory_messages} messages"


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
