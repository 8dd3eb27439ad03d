"""Turns that a restart cuts off, and wake-up turns that read what the real ones do.

Closing the core without ending its turns is what a killed process leaves in the store.
"""

from dataclasses import replace
from typing import Any

from astrbot_plugin_subagents.manager import Settings, Turn, TurnEnd
from astrbot_plugin_subagents.manager.fence import fenced
from astrbot_plugin_subagents.manager.messenger import Errand
from astrbot_plugin_subagents.manager.models import RunId
from astrbot_plugin_subagents.manager.testing import make_turn
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from astrbot_plugin_subagents.manager.turn_record import TurnRecord
from astrbot_plugin_subagents.subagent_tools import turn_notes

from . import core
from .bringing import Stage, a_stage

MESSAGE = "Compare the two."
ASKED = fenced(MESSAGE, what="message")


class ReadingMessenger(FakeMessenger):
    """Wakes with turns that are given notes, as the platform's are.

    Attributes:
        read: What each wake-up turn was told.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.wake`."""
        self.begun.append(errand)
        if self.open_session is None or self.end is None:
            return ()
        manager = await self.open_session(errand.session)
        turn = make_turn(errand.session, owner=errand.owner, turn_id=f"wake {errand.errand_id}")
        manager.begin_turn(turn)
        self.read.append(await turn_notes(manager, turn))
        manager.carried(turn)
        await manager.end_turn(turn, end=self.end)
        return ()


def read_by(stage: Stage) -> list[str]:
    """What the wake-up turns of a stage were told."""
    assert isinstance(stage.messenger, ReadingMessenger)
    return stage.messenger.read


async def open_turns(stage: Stage) -> list[TurnRecord]:
    """The turns that are kept."""
    return await stage.it.store.open_turns()


async def a_turn(stage: Stage, owner: str = "alice", message: str = MESSAGE) -> Turn:
    """A turn that a message began."""
    turn = await stage.it.turn(owner)
    turn.message = message
    return turn


async def cut_off(
    make_core: core.MakeCore, *tasks: str, **more: Any
) -> tuple[Stage, Turn, list[str]]:
    """A bot that was killed in a turn, with a child at work on each of these tasks."""
    stage = await a_stage(make_core, messenger=ReadingMessenger(), **more)
    turn = await a_turn(stage)
    ids = await begin(stage, turn, *tasks)
    await killed(stage)
    return stage, turn, ids


async def begin(stage: Stage, turn: Turn, *tasks: str) -> list[str]:
    """Let an agent of its own begin each of these tasks in the background; their ids."""
    ids = []
    for agent, task in zip(("ann", "ben", "cat"), tasks, strict=False):
        ids += await stage.begin(turn, task, agent=agent)
    await stage.crew.at_work(*tasks)
    return ids


async def killed(stage: Stage) -> None:
    """Let the process of a stage be gone; its store can be read."""
    await core.settled()
    await stage.it.sessions.close()
    await stage.it.store.open()


async def restarted(
    make_core: core.MakeCore, before: Stage, *, executor: str = "process2", **more: Any
) -> Stage:
    """The bot after a restart, which can reach its chats."""
    stage = await a_stage(
        make_core,
        messenger=ReadingMessenger(),
        store=before.it.store,
        clock=before.it.clock,
        executor=executor,
        **more,
    )
    # the static agents, which the platform's plugin sets as soon as a run is taken up
    await stage.it.open()
    await stage.it.sessions.courier.start()
    await core.settled()
    return stage


async def rewrite(stage: Stage, run_id: str, **changes: Any) -> None:
    """Change a run in the store of a bot that is not running."""
    run = await stage.it.store.get_run(core.SessionId("chat"), RunId(run_id))
    assert run is not None
    await stage.it.store.delete_session(run.session)
    await stage.it.store.add_runs([replace(run, **changes)])


async def notes_of_next_turn(stage: Stage, owner: str = "alice") -> tuple[Turn, str]:
    """A turn of a user that begins now, and what it is told."""
    turn = await stage.it.turn(owner)
    return turn, await stage.it.notes(turn)


async def a_quiet_restart(make_core: core.MakeCore, before: Stage) -> Stage:
    """The bot after a restart, before it reaches its chats."""
    messenger = ReadingMessenger()
    messenger.is_on = False
    return await a_stage(
        make_core,
        messenger=messenger,
        store=before.it.store,
        clock=before.it.clock,
        executor=before.it.clock.new_id(),
    )


async def cut_off_without_work(make_core: core.MakeCore) -> Stage:
    """A bot that was killed in a turn that had only made a sub-agent."""
    stage = await a_stage(make_core, messenger=ReadingMessenger())
    await stage.it.create("dan", await a_turn(stage))
    await killed(stage)
    return stage


async def restarted_in_vain(make_core: core.MakeCore, before: Stage, settings: Settings) -> Stage:
    """The bot after a restart, whose wake-up turns have no answer."""
    stage = await a_stage(
        make_core,
        messenger=ReadingMessenger(),
        store=before.it.store,
        clock=before.it.clock,
        settings=settings,
        executor="process9",
    )
    stage.messenger.end = TurnEnd.LOST
    await stage.it.sessions.courier.start()
    await core.settled()
    return stage
