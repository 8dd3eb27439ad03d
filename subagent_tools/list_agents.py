"""`list_subagents`: who there is and what they do."""

from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import Field

from ..manager import AgentKind, AgentStatus, DynamicAgentSettings, Run, SubAgentConfig
from ..manager.models import OwnerId
from .arguments import Arguments
from .describing import about
from .reports import progress
from .spec import CallContext, ToolSpec

_LINES = 50
"""Tasks of unnamed copies that are shown."""


class ListArguments(Arguments):
    """What `list_subagents` takes."""

    include_status: Annotated[bool, Field(description="false: names and descriptions only.")] = True


async def list_agents(context: CallContext, arguments: ListArguments) -> str:
    """All agents of the session, then limits and free places."""
    manager = context.manager
    overview = await manager.overview(context.turn)

    def line(run: Run) -> str:
        words = manager.reader.may_read(run, context.turn.asker)
        return progress(run, position=manager.runs.position(run.run_id), words=words)

    reader = context.turn.asker.owner
    settings = manager.settings
    dynamic = settings.dynamic_agents
    blocks = [
        "\n".join(
            _block(status, line, dynamic, reader)
            if arguments.include_status
            else (_head(status.config, reader),)
        )
        for status in overview.agents
    ]
    if not blocks:
        blocks.append("There are no sub-agents here.")
    if unnamed := [run for run in manager.runs.live() if run.agent is None]:
        lines = "\n".join(f"  {line(run)}" for run in unnamed[:_LINES])
        blocks.append(f"Tasks of unnamed copies ({len(unnamed)}):\n{lines}")
    blocks.append(
        f"Free: {overview.free_agents} of {dynamic.max_dynamic_subagent_count} "
        f"sub-agents, {overview.free_places} tasks at once."
    )
    return "\n\n".join(blocks)


def _head(config: SubAgentConfig, reader: OwnerId) -> str:
    safe = config.protected or config.kind is AgentKind.STATIC
    marks = f"{config.kind}, {'protected' if safe else 'unprotected'}"
    return f"{config.name} ({marks}): {about(config, reader)}"


def _block(
    status: AgentStatus,
    line: Callable[[Run], str],
    dynamic: DynamicAgentSettings,
    reader: OwnerId,
) -> Iterator[str]:
    config = status.config
    yield _head(config, reader)
    yield f"  owner: {config.owner or 'the bot'}"
    yield f"  status: {_doing(status)}"
    for run in (*status.running, *status.queued):
        yield f"  {line(run)}"
    yield f"  tools: {tools_text(config, dynamic)}"
    yield f"  skills: {_names(config.skills)}"
    yield f"  model: {config.provider_id or 'default'}"
    yield f"  memory: {status.memory_messages} messages"


def _doing(status: AgentStatus) -> str:
    if status.running:
        return "running"
    return "queued" if status.queued else "idle"


def tools_text(config: SubAgentConfig, dynamic: DynamicAgentSettings) -> str:
    """The tools of an agent: those it was given, and those that every dynamic one has."""
    given = _names(config.tools)
    if config.kind is not AgentKind.DYNAMIC:
        return given
    known = {*(config.tools or ()), *dynamic.tools_blacklist}
    inherent = ", ".join(tool for tool in dynamic.tools_inherent if tool not in known)
    return f"{given}; and, where the bot has them: {inherent}" if inherent else given


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
    only_reads=True,
)
