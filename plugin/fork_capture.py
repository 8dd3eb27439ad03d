"""What the main agent's model was sent before it called one of our tools, for forks of it.

AstrBot puts the assistant message that holds a call, and the results, into the messages only when
all calls of that message are done: what stands there while a tool runs is what was sent.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from astrbot.api import FunctionTool

from ..manager.fork_context import ForkContext
from ..manager.models import GroupId, SessionId
from .turns import OpenTurn


def capture_fork(
    open_turn: OpenTurn, run_context: Any, group_id: GroupId, session: SessionId, *, now: datetime
) -> ForkContext | None:
    """Take down what forks of a call begin with.

    Args:
        open_turn: The turn.
        run_context: AstrBot's, as a tool of the main agent is given it.
        group_id: The call's group.
        session: The turn's session.
        now: The time.

    Returns:
        None when the turn has no model request that we saw.
    """
    request, agent = open_turn.handle.provider_request, open_turn.agent
    if request is None or not open_turn.tool_sets:
        return None
    return ForkContext(
        group_id=group_id,
        session=session,
        messages=tuple(message.model_dump() for message in run_context.messages),
        tools=tuple(
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            }
            for tool in _tools_sent(open_turn, run_context)
        ),
        provider_id=agent.provider_id if agent is not None else "",
        model=str(request.model or ""),
        created_at=now,
    )


def _tools_sent(open_turn: OpenTurn, run_context: Any) -> Iterable[FunctionTool]:
    """The tools of the request that was answered with the call.

    Not those that are there now: another call of the same answer may have made a sub-agent, and
    another plugin may have given the main agent a tool set of its own.
    """
    agent = open_turn.agent
    if agent is not None and agent.works_in(run_context):
        return agent.tools_sent
    return open_turn.tool_sets[-1]
