"""Any order of things: every result is handed for good exactly once, and told at most once.

Turns of two users begin and end, are lost, and wait; children ask; wake-ups and messages fail; the
plugin is reloaded and the bot restarted. In the end all goes well again, and the books are checked.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import Settings, Turn, TurnEnd
from astrbot_plugin_subagents.manager.events import ResultsHanded
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.models import DeliveryState, SessionId
from astrbot_plugin_subagents.manager.settings import DeliverySettings
from astrbot_plugin_subagents.manager.testing import (
    Act,
    FakeClock,
    FakeHost,
    Hang,
    Say,
    Use,
)
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from support import core
from support.slow_store import SlowStore, ticks

CHAT = SessionId("chat")
OWNERS = ("alice", "bob")
WAKE_ENDS = (TurnEnd.ANSWERED, TurnEnd.LOST, TurnEnd.STOPPED, None)
LIMITS = Settings(
    max_parallel_per_session=2,
    starts_per_turn=99,
    question_timeout=100,
    delivery=DeliverySettings(max_attempts=3),
)


class World:
    """A bot over several starts, and all that its messengers and turns have got."""

    def __init__(self, files: Path, delays: list[int]) -> None:
        self.files = files
        self.store = SlowStore(delays).store
        self.clock = FakeClock()
        self.hangs: list[Hang] = []
        self.turns: dict[str, Turn] = {}
        self.calls: defaultdict[str, list[asyncio.Task[str]]] = defaultdict(list)
        self.messengers: list[FakeMessenger] = []
        self.by_turns: Counter[str] = Counter()
        self.let_go = False

    @property
    def messenger(self) -> FakeMessenger:
        return self.messengers[-1]

    async def start(self, executor: str) -> None:
        self.messengers.append(FakeMessenger())
        self.it = core.Core(
            self.files,
            host=FakeHost(self.script),
            store=self.store,
            clock=self.clock,
            executor=executor,
            settings=LIMITS,
            messenger=self.messenger,
        )
        await self.it.sessions.start()
        await self.it.sessions.courier.start()

    def script(self, request: AgentRequest) -> list[Act]:
        hang = Hang()
        self.hangs.append(hang)
        if self.let_go:
            hang.gate.set()
        asks = Use(tool="ask_question", arguments='{"question": "Really?"}')
        return [hang, *([asks] if "ask" in request.prompt else []), Say(text="done")]

    async def begin_or_end(self, owner: str, end: TurnEnd) -> None:
        """A turn of the user begins and is given what is there, or the one that is open ends."""
        turn = self.turns.pop(owner, None)
        if turn is None:
            self.turns[owner] = turn = await self.it.turn(owner)
            await self.it.notes(turn)
            return
        calls = self.calls.pop(turn.turn_id, [])
        if end is TurnEnd.ANSWERED:
            await self.returned(calls)
            self.by_turns.update(self.handed(turn))
        for call in calls:
            call.cancel()
        await self.it.end(turn, end)

    def handed(self, turn: Turn) -> list[str]:
        return [
            delivery_id
            for event in self.it.events
            if isinstance(event, ResultsHanded) and event.taker == turn.turn_id
            for delivery_id in event.delivery_ids
        ]

    async def returned(self, calls: list[asyncio.Task[str]]) -> None:
        """Let time pass until these calls have returned."""
        while not all(call.done() for call in calls):
            self.clock.advance(20)
            await ticks(3)

    async def call(self, owner: str, tool: str, **arguments: Any) -> None:
        """Call a tool in the user's turn; one begins if there is none."""
        if owner not in self.turns:
            await self.begin_or_end(owner, TurnEnd.ANSWERED)
        turn = self.turns[owner]
        call = asyncio.create_task(self.it.call(tool, turn, **arguments))
        self.calls[turn.turn_id].append(call)

    async def restart(self, executor: str) -> None:
        for turn in self.turns.values():
            await self.it.end(turn, TurnEnd.LEFT)
        self.turns.clear()
        await self.it.sessions.close()
        await self.returned(list(chain.from_iterable(self.calls.values())))
        self.calls.clear()
        await self.start(executor)

    async def finish(self) -> None:
        """Let all go well: nothing hangs or fails, questions time out, all turns come to an end."""
        self.let_go = True
        self.go_well()
        for _ in range(20):
            for hang in self.hangs:
                hang.gate.set()
            self.clock.advance(700)
            await core.settled()
        for owner in OWNERS * 2:
            await self.begin_or_end(owner, TurnEnd.ANSWERED)
            await core.settled()
        for owner in tuple(self.turns):
            await self.begin_or_end(owner, TurnEnd.ANSWERED)
        await core.settled()

    def go_well(self) -> None:
        messenger = self.messenger
        messenger.end, messenger.sends = TurnEnd.ANSWERED, True
        for gate in (*messenger.gates.values(), messenger.turn_gate):
            if gate is not None:
                gate.set()
        messenger.gates, messenger.turn_gate = {}, None


async def play(world: World, op: str, owner: str, pick: int) -> None:
    if op in CALLS:
        tool, arguments = CALLS[op](pick)
        await world.call(owner, tool, **arguments)
    elif op in ("cancel", "answer"):
        await on_one(world, op, owner, pick)
    elif op == "turn":
        await world.begin_or_end(owner, TurnEnd.ANSWERED if pick % 3 else TurnEnd.LOST)
    elif op in ("reload", "restart"):
        await world.restart("process1" if op == "reload" else f"{op} {pick}")
    else:
        disturb(world, op, pick)


def disturb(world: World, op: str, pick: int) -> None:
    """What happens around the users and their turns."""
    messenger = world.messenger
    match op:
        case "go on":
            for hang in world.hangs[pick % 3 :: 3]:
                hang.gate.set()
        case "time":
            world.clock.advance((5, 30, 120, 700)[pick % 4])
        case "trouble":
            messenger.end, messenger.sends = WAKE_ENDS[pick % 4], bool(pick % 3)
        case "hold":
            messenger.gates = {Way.WAKE: asyncio.Event(), Way.TELL: asyncio.Event()}
            messenger.turn_gate = asyncio.Event() if pick % 2 else None
        case "well":
            world.go_well()
        case "off":
            messenger.off ^= {CHAT}


async def on_one(world: World, op: str, owner: str, pick: int) -> None:
    runs = (await world.it.open()).runs.live()
    if not runs:
        return
    run_id = runs[pick % len(runs)].run_id
    if op == "cancel":
        await world.call(owner, "cancel_subagent_task", task_id=run_id)
    else:
        await world.call(owner, "answer_subagent", task_id=run_id, answer="yes")


def two_tasks(pick: int) -> list[dict[str, Any]]:
    """Two tasks; now and then the second one needs the first."""
    return [
        {"id": "a", "task": "x"},
        {"id": "b", "task": "y", "depends_on": ["a"] if pick % 2 else []},
    ]


CALLS: dict[str, Callable[[int], tuple[str, dict[str, Any]]]] = {
    "task": lambda _: ("task", {"task": "x", "background_task": True}),
    "ask": lambda _: ("task", {"task": "ask", "background_task": True}),
    "pair": lambda pick: ("task", {"tasks": two_tasks(pick), "background_task": True}),
    "foreground": lambda _: ("task", {"task": "x"}),
    "wait": lambda pick: ("wait_for_subagent", {"mode": ("all", "any")[pick % 2]}),
}
OPS = (
    *(*CALLS, "task", "cancel", "answer"),
    *("turn", "turn", "turn", "go on", "go on", "go on", "time", "time"),
    *("trouble", "hold", "well", "off", "reload", "restart"),
)
SCRIPTS = st.lists(
    st.tuples(
        st.sampled_from(OPS), st.sampled_from(OWNERS), st.integers(0, 11), st.integers(0, 12)
    ),
    min_size=8,
    max_size=30,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=SCRIPTS, delays=st.lists(st.integers(0, 3), min_size=1, max_size=7))
async def test_whatever_happens_a_result_is_handed_for_good_once_and_told_at_most_once(
    files: Path, script: list[tuple[str, str, int, int]], delays: list[int]
) -> None:
    before = asyncio.all_tasks()
    async with asyncio.timeout(core.LONG):
        world = World(files, delays)
        await world.start("process1")
        for op, owner, pick, pause in script:
            await play(world, op, owner, pick)
            await ticks(pause)
        await world.finish()
        await check(world)
        await world.it.sessions.close()
    assert asyncio.all_tasks() == before


async def check(world: World) -> None:
    runs = await world.store.list_runs(CHAT, limit=1_000)
    rows = await world.store.load_deliveries(CHAT, states=tuple(DeliveryState))
    told = Counter(
        run_id
        for messenger in world.messengers
        for way, ids in messenger.sent
        if way is Way.TELL
        for run_id in ids
    )
    woken = Counter(
        run_id
        for messenger in world.messengers
        for end, ids in messenger.ended
        if end is TurnEnd.ANSWERED
        for run_id in ids
    )

    assert [run.run_id for run in runs if not run.is_over] == []
    assert max(told.values(), default=0) <= 1
    assert told + woken + world.by_turns == Counter(run.run_id for run in runs)
    assert {row.state for row in rows} <= {DeliveryState.ACKNOWLEDGED}
    assert max(messenger.most_at_once for messenger in world.messengers) <= 1
    assert (await world.it.open()).runs.questions.open() == []
