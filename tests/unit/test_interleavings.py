"""Any order of things: every accepted run ends once, comes back once, and leaves nothing.

Small scripts of everything that can happen to a session are played with a store whose calls take
a varying number of turns of the event loop. At the end the plugin is closed and opened again, all
children are let go, and the books are checked.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import RunState, Settings, Turn, TurnEnd
from astrbot_plugin_subagents.manager.events import ResultsHanded, RunChanged
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.models import AgentName
from astrbot_plugin_subagents.manager.testing import Act, FakeClock, FakeHost, Hang, Say, Use
from support import core
from support.slow_store import SlowStore, ticks

type Call = Callable[[World, int], tuple[str, dict[str, Any]]]

AGENTS = ("a", "b")
OWNERS = ("alice", "bob")
ENDS = {
    "turn ends": TurnEnd.ANSWERED,
    "turn is stopped": TurnEnd.STOPPED,
    "turn is lost": TurnEnd.LOST,
}
TURN_OPS = ("model is asked", *ENDS)


class World:
    """A bot over several starts of the plugin, and all that was asked of it."""

    def __init__(self, files: Path, delays: list[int]) -> None:
        self.files = files
        self.store = SlowStore(delays).store
        self.clock = FakeClock()
        self.hangs: list[Hang] = []
        self.calls: defaultdict[str, list[asyncio.Task[str]]] = defaultdict(list)
        self.ends: list[asyncio.Task[None]] = []
        self.turns: dict[str, Turn] = {}
        self.delivered: Counter[str] = Counter()
        self.carried: defaultdict[str, list[str]] = defaultdict(list)
        """What each turn's model has been told, by the turn's id."""
        self.roots: list[core.Core] = []
        self.let_go = False

    @property
    def it(self) -> core.Core:
        return self.roots[-1]

    async def start(self, executor: str) -> None:
        root = core.Core(
            self.files,
            host=FakeHost(self.script),
            store=self.store,
            clock=self.clock,
            executor=executor,
            settings=core.many_agents(max_parallel_per_session=2, starts_per_turn=99),
        )
        self.roots.append(root)
        await root.sessions.start()
        for owner in OWNERS:
            self.turns[owner] = await root.turn(owner)

    def script(self, _: AgentRequest) -> list[Act]:
        hang = Hang()
        self.hangs.append(hang)
        if self.let_go:
            hang.gate.set()
        return [Use(tool="search"), hang, Say(text="done")]

    def call(self, owner: str, tool: str, **arguments: Any) -> None:
        turn = self.turns[owner]
        if tool.startswith("transfer_to_") and tool[len("transfer_to_") :] not in self.agents():
            return
        call = asyncio.create_task(self.it.call(tool, turn, **arguments))
        self.calls[turn.turn_id].append(call)

    def agents(self) -> list[str]:
        manager = self.it.sessions.loaded(self.turns["alice"].session)
        return [config.name for config in manager.agents()] if manager else []

    def some_run(self, pick: int) -> str:
        known = [
            event.run.run_id
            for root in self.roots
            for event in root.events
            if isinstance(event, RunChanged)
        ]
        return known[pick % len(known)] if known else "none"

    async def ask_model(self, owner: str) -> None:
        """A model request of the user's turn goes out, once its calls have returned."""
        turn = self.turns[owner]
        await self.answered(self.calls[turn.turn_id])
        (await self.it.open()).carried(turn)
        self.carried[turn.turn_id] = self.handed(turn)

    async def end_turn(self, owner: str, end: TurnEnd) -> None:
        turn = self.turns[owner]
        self.turns[owner] = await self.it.turn(owner)
        if end is TurnEnd.ANSWERED:
            # a model has all its answers before it ends its turn
            await self.answered(self.calls.pop(turn.turn_id, []))
        else:
            for call in self.calls[turn.turn_id]:
                call.cancel()
        self.note_end(turn, end)
        self.ends.append(asyncio.create_task(self.it.end(turn, end)))

    async def answered(self, calls: Iterable[asyncio.Task[str]]) -> None:
        """Let time pass until these calls have returned."""
        while not all(call.done() for call in calls):
            self.clock.advance(20)
            await ticks(3)

    def handed(self, turn: Turn | None = None) -> list[str]:
        """Ids of the results that a turn, or any, was handed since the plugin started."""
        return [
            delivery_id
            for event in self.it.events
            if isinstance(event, ResultsHanded) and (turn is None or event.taker == turn.turn_id)
            for delivery_id in event.delivery_ids
        ]

    def note_end(self, turn: Turn, end: TurnEnd) -> None:
        """Note which results a turn keeps: all, or those its model was told."""
        carried = self.carried[turn.turn_id] if end is not TurnEnd.LOST else ()
        self.delivered.update(
            delivery_id
            for delivery_id in self.handed(turn)
            if end is TurnEnd.ANSWERED or delivery_id in carried
        )

    async def leave_turns(self) -> None:
        """The plugin is reloaded while the turns go on."""
        for turn in self.turns.values():
            self.note_end(turn, TurnEnd.LEFT)
            await self.it.end(turn, TurnEnd.LEFT)

    async def restart(self, executor: str) -> None:
        if executor.startswith("reload"):
            await self.leave_turns()
        await self.it.sessions.close()
        await self.rest()
        await self.start(executor)

    async def rest(self) -> None:
        """Wait until all that was called has returned."""
        await self.answered(chain.from_iterable(self.calls.values()))
        self.calls.clear()
        if self.ends:
            await asyncio.wait(self.ends)
        self.ends.clear()

    async def finish(self) -> None:
        """Let all children go, end all turns well, and have every result collected."""
        self.let_go = True
        for _ in range(12):
            for hang in self.hangs:
                hang.gate.set()
            await core.settled()
        await self.rest()
        for owner in OWNERS:
            await self.it.notes(self.turns[owner])
            await self.end_turn(owner, TurnEnd.ANSWERED)
            await self.rest()


async def play(world: World, op: str, owner: str, pick: int) -> None:
    if op in TOOLS:
        tool, arguments = TOOLS[op](world, pick)
        world.call(owner, tool, **arguments)
    elif op == "go on":
        for hang in world.hangs[pick % 3 :: 3]:
            hang.gate.set()
    elif op == "time":
        world.clock.advance(60)
    elif op == "a call is stopped":
        for call in [*chain.from_iterable(world.calls.values())][pick % 3 :: 3]:
            call.cancel()
    elif op in TURN_OPS:
        await (world.end_turn(owner, ENDS[op]) if op in ENDS else world.ask_model(owner))
    else:
        await world.restart(f"{op} {pick if op == 'restart' else ''}")


def changing(tool: str, **more: str) -> Call:
    return lambda _, pick: (tool, {"name": AGENTS[pick % 2], **more})


TOOLS: dict[str, Call] = {
    "background": lambda _, pick: (
        f"transfer_to_{AGENTS[pick % 2]}",
        {"input": f"look at {pick}", "background_task": True},
    ),
    "foreground": lambda _, pick: (
        f"transfer_to_{AGENTS[pick % 2]}",
        {"input": f"look at {pick}"},
    ),
    "wait": lambda _, pick: ("wait_for_subagent", {"mode": ("all", "any")[pick % 2]}),
    "wait for one": lambda world, pick: ("wait_for_subagent", {"task_id": world.some_run(pick)}),
    "cancel": lambda world, pick: ("cancel_subagent_task", {"task_id": world.some_run(pick)}),
    "cancel agent": lambda _, pick: (
        "cancel_subagent_task",
        {"subagent_name": AGENTS[pick % 2]},
    ),
    "read": lambda world, pick: ("read_subagent_result", {"task_id": world.some_run(pick)}),
    "create": changing("create_subagent", system_prompt="x"),
    "reset": changing("reset_subagent"),
    "remove": changing("remove_subagent"),
    "protect": changing("protect_subagent"),
    "unprotect": changing("unprotect_subagent"),
}
OPS = (
    *TOOLS,
    *("background", "foreground", "go on") * 2,
    "go on",
    "time",
    "a call is stopped",
    *TURN_OPS,
    "reload",
    "restart",
)
SCRIPTS = st.lists(
    st.tuples(
        st.sampled_from(OPS), st.sampled_from(OWNERS), st.integers(0, 20), st.integers(0, 12)
    ),
    min_size=10,
    max_size=40,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=SCRIPTS, delays=st.lists(st.integers(0, 3), min_size=1, max_size=7))
async def test_whatever_happens_runs_end_once_and_come_back_once(
    files: Path, script: list[tuple[str, str, int, int]], delays: list[int]
) -> None:
    before = asyncio.all_tasks()
    async with asyncio.timeout(core.LONG):
        world = World(files, delays)
        await world.start("reload ")
        for name in AGENTS:
            await world.it.create(name, world.turns["alice"], tools=["search"])
        for op, owner, pick, pause in script:
            await play(world, op, owner, pick)
            await ticks(pause)
        await world.finish()
        await check(world)
        await world.it.sessions.close()
    assert asyncio.all_tasks() == before


async def check(world: World) -> None:
    manager = await world.it.open()
    runs = await world.store.list_runs(manager.session, limit=1000)
    events = [event for root in world.roots for event in root.events]
    told = Counter(core.ended_ids(events))

    assert [run.run_id for run in runs if not run.is_over] == []
    # a restart tells nobody of the runs that it finds cut off: nobody is there yet
    silent = {run.run_id for run in runs if run.state is RunState.INTERRUPTED}
    assert told == Counter(run.run_id for run in runs if run.run_id not in silent)
    assert world.delivered == Counter(run.run_id for run in runs)
    assert manager.runs.live() == []
    assert manager.runs.free_places() == 2
    assert manager.is_idle() is False
    for config in manager.agents():
        rows = await world.store.load_messages(config.conversation, newest=1000)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert {config.name for config in manager.agents()} <= {AgentName(name) for name in AGENTS}
    stored = await world.store.load_agents(manager.session)
    assert sorted(stored, key=lambda config: config.name) == sorted(
        manager.agents(), key=lambda config: config.name
    )


def test_the_settings_are_what_the_scripts_need() -> None:
    assert Settings().dynamic_agents.auto_cleanup_per_turn
