"""Calls of the tool `task`: children that wait until a test lets them go on, and its replies."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from astrbot_plugin_subagents.manager import Run, Turn
from astrbot_plugin_subagents.manager.fork_context import ForkContext
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.models import GroupId, SessionId
from astrbot_plugin_subagents.manager.testing import EPOCH, Act, Hang, Say

from .core import LONG, Core

_BLOCK = re.compile(r"^task: (.+)\ntask_id: (\S+)\n.*\nstate: (.+)$", re.MULTILINE)
_LINE = re.compile(r"^task_id: (\S+) \| .* \| task (.+) of group (\S+) \| (.+)$", re.MULTILINE)


class Crew:
    """Children by the text of their task; each waits in its first model call.

    Attributes:
        begun: The tasks in the order in which their children began.
        ends: What a child does once it may go on; one that is not named says `<task> done`.
    """

    def __init__(self, **ends: Act) -> None:
        self.begun: list[str] = []
        self.ends = ends
        self._hangs: defaultdict[str, Hang] = defaultdict(Hang)

    def script(self, request: AgentRequest) -> Sequence[Act]:
        """What the child of a request does."""
        text = own_text(request)
        self.begun.append(text)
        return (self._hangs[text], self.ends.get(text, Say(text=f"{text} done")))

    async def at_work(self, *texts: str) -> None:
        """Wait until the children of these tasks have begun."""
        async with asyncio.timeout(LONG):
            for text in texts:
                await self._hangs[text].reached.wait()

    def let(self, *texts: str) -> None:
        """Let the children of these tasks go on, now or once they begin."""
        for text in texts:
            self._hangs[text].gate.set()


def own_text(request: AgentRequest) -> str:
    """A task without what stands ahead of it."""
    return request.prompt.rpartition("\n\n")[2]


def a_task(text: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    """A task as a model gives it, with its text as its id."""
    return {"id": text, "task": text, "depends_on": list(depends_on), **more}


async def start(it: Core, turn: Turn, *tasks: dict[str, Any]) -> list[Run]:
    """Start tasks in the background; their runs, in the order of the call."""
    reply = await it.call("task", turn, tasks=list(tasks), background_task=True)
    return await runs_of(it, reply)


async def runs_of(it: Core, reply: str, session: str = "chat") -> list[Run]:
    """The runs of the group that a reply names, as they stand."""
    return await (await it.open(session)).runs.group(group_of(reply))


def group_of(reply: str) -> GroupId:
    """The group that a reply names first."""
    return GroupId(reply.split("group_id: ", 1)[1].split()[0])


def blocks(reply: str) -> list[tuple[str, str]]:
    """The finished tasks of a reply with their states, in its order."""
    return [(label, state) for label, _, state in _BLOCK.findall(reply)]


def lines(reply: str) -> dict[str, str]:
    """The unfinished tasks of a reply and how they stand."""
    return {label: state for _, label, _, state in _LINE.findall(reply)}


def a_fork_context(group_id: GroupId, session: SessionId) -> ForkContext | None:
    """What the main agent's model was sent before it called `task`."""
    return ForkContext(
        group_id=group_id,
        session=session,
        messages=(
            {"role": "system", "content": "You are a helper."},
            {"role": "user", "content": "Look into it."},
        ),
        tools=({"name": "search", "description": "Searches.", "parameters": {}},),
        provider_id="main",
        created_at=EPOCH,
    )
