"""One life of the core, until it is killed or nothing is left to do.

    python -m torture.life FOLDER ADDRESS LIFE SEED [HOME]

It prints a line once its runs are started or taken up. With a home it is one of several processes
that share the store's work: `bot` owns all chats, any other one works for it.
"""

import asyncio
import random
import sys
from dataclasses import replace
from pathlib import Path

from astrbot_plugin_subagents.manager import (
    Asker,
    Settings,
    SubAgentManager,
    Turn,
    TurnEnd,
)
from astrbot_plugin_subagents.manager.events import EventBus
from astrbot_plugin_subagents.manager.messenger import Errand
from astrbot_plugin_subagents.manager.models import DeliveryState, OwnerId, RunId, SessionId
from astrbot_plugin_subagents.manager.services import Services
from astrbot_plugin_subagents.manager.sessions import Sessions
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.store.address import ServerAddress, parse_address
from astrbot_plugin_subagents.manager.testing import make_turn
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from astrbot_plugin_subagents.manager.workers.engine import Pace
from astrbot_plugin_subagents.manager.workers.postgres import PostgresSharing
from astrbot_plugin_subagents.plugin.clock import SystemClock
from astrbot_plugin_subagents.subagent_tools import (
    CallContext,
    call_tool,
    management_tools,
    transfer_tool,
)

from .host import WritingHost
from .traces import CHATS, CUT_OFF, Traces

OWNER = OwnerId("alice")
AGENTS = tuple(StaticAgentSettings(name=name, tools=None) for name in ("ann", "ben"))
SETTINGS = Settings(max_steps=10_000, execution_timeout=0, idle_timeout=0)
MOST_TAKES = 1_000
OPEN = (DeliveryState.PENDING, DeliveryState.CLAIMED, DeliveryState.HANDED)
LOOK_SECONDS = 0.1
BOT = "bot"
"""The home of all chats, where there are several processes."""
PLACES = 8
"""Runs that one of several processes executes at once: less than there are."""
PAIR_SLOWNESS = 2.5
"""One of several goes on while another is down, so there must be more to do for as many blows."""
PACE = Pace(beat=0.2, stalled=1.5, poll=0.5, reconnect=0.2, answer=2.0, close=2.0)
TURN_SECONDS = 1.2
"""The longest that a wake-up turn takes: some are killed in it."""


class WritingMessenger(FakeMessenger):
    """Its wake-up turns write down what they are handed, and when that is done with."""

    def __init__(self, traces: Traces, chance: random.Random) -> None:
        super().__init__()
        self._traces = traces
        self._chance = chance

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """See `Messenger.wake`."""
        assert self.open_session is not None
        manager = await self.open_session(errand.session)
        turn = make_turn(errand.session, owner=errand.owner, turn_id=f"wake {errand.errand_id}")
        manager.begin_turn(turn)
        lost = manager.log.hand(turn, at_work=manager.runs.turns_at_work())
        runs = await manager.collect(turn)
        ids = [*(run.run_id for run in runs), *(record.turn_id for record in lost)]
        self._traces.add("deliveries", event="handed", ids=ids)
        for record in lost:
            calls = [call.tool for call in record.calls]
            self._traces.add("lost", turn=record.turn_id, message=record.message, calls=calls)
        manager.carried(turn)
        await asyncio.sleep(self._chance.uniform(0, TURN_SECONDS))
        await manager.end_turn(turn, end=TurnEnd.ANSWERED)
        self._traces.add("deliveries", event="acknowledged", ids=ids)
        return tuple(run.run_id for run in runs)


async def live(folder: Path, address: str, life: int, seed: str, home: str) -> None:
    """Start or take up all runs, and see them and their results through.

    Args:
        folder: Where the traces are.
        address: Of the store.
        life: Its number; the first one asks for the runs.
        seed: What its chances are made of.
        home: The name of this process among several; "" is alone.
    """
    traces, chance = Traces(folder=folder, life=life), random.Random(f"{seed} {life}")
    slowness = PAIR_SLOWNESS if home else 1.0
    host = WritingHost(traces, chance, slowness=slowness)
    messenger = WritingMessenger(traces, chance)
    store = SqlStore(address if "://" in address else Path(address))
    services = Services(
        host=host,
        store=store,
        clock=SystemClock(),
        bus=EventBus(),
        settings=lambda: SETTINGS,
        executor=f"life {life}",
        files=folder / "files",
        messenger=messenger,
    )
    shared = shared_by(address, home) if home else None
    if shared is not None:
        await shared.open()
        services = replace(services, sharing=replace(shared.sharing, static_agents=lambda: AGENTS))
    sessions = Sessions(services, most_takes=MOST_TAKES)
    messenger.open_session = sessions.open
    host.up.clear()
    await sessions.start()
    if home in ("", BOT):
        for chat in CHATS:
            (await sessions.open(SessionId(chat))).set_static(AGENTS)
    host.up.set()
    if life == 0:
        for chat in CHATS:
            await begin(await sessions.open_here(SessionId(chat)), traces)
    await sessions.courier.start()
    sys.stdout.write("at work\n")
    sys.stdout.flush()
    while await is_anything_left(store):  # noqa: ASYNC110 - the store tells nobody
        await asyncio.sleep(LOOK_SECONDS)
    await sessions.close()
    if shared is not None:
        await shared.close()


def shared_by(address: str, home: str) -> PostgresSharing:
    """What this process shares its work through, with little patience for the dead."""
    place = parse_address(address)
    assert isinstance(place, ServerAddress)
    return PostgresSharing(place.dsn, home=home, places=lambda taken: taken < PLACES, pace=PACE)


async def begin(manager: SubAgentManager, traces: Traces) -> None:
    """Let a turn ask for three runs, two of agents and one of a copy; some turns do not end."""
    turn = Turn(
        turn_id=f"turn of {manager.session}",
        session=manager.session,
        asker=Asker(owner=OWNER),
        message=f"Write, {manager.session}.",
    )
    manager.begin_turn(turn)
    context = CallContext(manager=manager, turn=turn, seconds_left=lambda: 60.0)
    for agent in manager.agents():
        arguments = {"input": "Write.", "background_task": True}
        await call_tool(transfer_tool(agent), context, arguments)
    task = next(spec for spec in management_tools(SETTINGS) if spec.name == "task")
    await call_tool(task, context, {"task": "Write.", "background_task": True})
    for run in manager.runs.live():
        traces.add("runs", run=run.run_id, chat=manager.session)
    if manager.session not in CUT_OFF:
        await manager.end_turn(turn, end=TurnEnd.ANSWERED)


async def is_anything_left(store: SqlStore) -> bool:
    """Whether a run is not over, a result not read, or a turn not answered."""
    if await store.unfinished_runs() or await store.open_turns():
        return True
    rows = [await store.load_deliveries(SessionId(chat), states=OPEN) for chat in CHATS]
    return any(rows)


if __name__ == "__main__":
    _, where, at, number, chosen, *named = sys.argv
    asyncio.run(live(Path(where), at, int(number), chosen, named[0] if named else ""))
