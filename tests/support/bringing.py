"""A chat whose results are brought by a `FakeMessenger`; its children wait until they are let."""

from dataclasses import dataclass, field
from typing import Any

from astrbot_plugin_subagents.manager import Turn
from astrbot_plugin_subagents.manager.models import Delivery, DeliveryState, SessionId
from astrbot_plugin_subagents.manager.testing import FakeHost
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger

from . import core
from .task_calls import Crew

AGENTS = ("ann", "ben", "cat")


@dataclass(slots=True, kw_only=True)
class Stage:
    """A core with its messenger and its children."""

    it: core.Core
    messenger: FakeMessenger
    crew: Crew = field(default_factory=Crew)

    async def begin(self, turn: Turn, *tasks: str, agent: str = "ann") -> list[str]:
        """Give an agent tasks in the background; their ids."""
        tool = f"transfer_to_{agent}"
        return [
            core.task_id(await self.it.call(tool, turn, input=task, background_task=True))
            for task in tasks
        ]

    async def after_turn(self, *tasks: str, owner: str = "alice", agent: str = "ann") -> list[str]:
        """Let a turn begin tasks in the background and end; their ids."""
        turn = await self.it.turn(owner)
        ids = await self.begin(turn, *tasks, agent=agent)
        await self.it.end(turn)
        return ids

    async def let(self, *tasks: str) -> None:
        """Let the children of these tasks end, and have all happen that follows from it."""
        self.crew.let(*tasks)
        await core.settled()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and have all happen that follows from it."""
        self.it.clock.advance(seconds)
        await core.settled()

    async def rows(self, session: str = "chat") -> list[Delivery]:
        """The chat's outbox as it is stored."""
        states = tuple(DeliveryState)
        return await self.it.store.load_deliveries(SessionId(session), states=states)

    async def states(self) -> list[DeliveryState]:
        """How the chat's results stand in the store."""
        return [row.state for row in await self.rows()]

    @property
    def ways(self) -> list[str]:
        """The ways of all errands that were begun."""
        return [errand.way.value for errand in self.messenger.begun]


async def a_stage(make_core: core.MakeCore, *, crew: Crew | None = None, **arguments: Any) -> Stage:
    """A started core with static agents."""
    crew = crew or Crew()
    arguments.setdefault("host", FakeHost(crew.script, admins=("root",)))
    arguments.setdefault("messenger", FakeMessenger())
    it = await make_core(static=AGENTS, **arguments)
    return Stage(it=it, messenger=arguments["messenger"], crew=crew)
