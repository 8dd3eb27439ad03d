"""W3: many sessions in the store. What does opening one cost, and what does the process keep?

Run as a program it touches sessions of a filled store, in a process of its own, and prints how many
kilobytes that process has grown by.
"""

import asyncio
import gc
import os
import statistics
import sys
from dataclasses import replace
from functools import partial
from itertools import batched
from pathlib import Path

from measure import sample
from report import Figure

from astrbot_plugin_subagents.manager import SessionId, Sessions, TurnEnd
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    ConversationId,
    OwnerId,
    Run,
    RunId,
    RunState,
    SessionRecord,
    StoredMessage,
    SubAgentConfig,
)
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore, Store
from astrbot_plugin_subagents.manager.testing import EPOCH, make_services, make_turn

FEW, MANY = 10, 10_000
"""Sessions in the store."""
TOUCHED = 1000
_AGENTS = 3
_AT_ONCE = 200
_STEP = 7919
"""Prime, so that every session is met before one is met again."""


async def run(folder: Path, *, times: int) -> list[Figure]:
    """Measure all of it."""
    found = []
    for count in (FEW, MANY):
        path = folder / f"w3_{count}.db"
        await _fill(path, count)
        found.append(_figure(count, "ms_median", await _opening(path, count, times=times)))
    for touched in (FEW, TOUCHED):
        grown = await _growth(folder / f"w3_{MANY}.db", touched)
        found.append(_figure(touched, "kb", grown))
    return found


def _figure(n: int, metric: str, value: float) -> Figure:
    return Figure(workload="W3", subject="core", n=n, metric=metric, value=round(value, 3))


async def _opening(path: Path, count: int, *, times: int) -> float:
    """Milliseconds that opening a session takes that is not in memory, spread over the store."""
    store = SqlStore(path)
    await store.open()
    services = make_services(store, path.with_suffix(""))
    chosen = [_session(number * _STEP % count) for number in range(times)]
    for session in chosen:
        # once without measuring, or the first reading of its pages would be what is compared
        await Sessions(services).open(session)
    samples = [await sample(partial(Sessions(services).open, session)) for session in chosen]
    await store.close()
    return statistics.median(each.wall_seconds for each in samples) * 1000


async def _growth(path: Path, touched: int) -> float:
    """What this file prints when it is run as a program."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, str(path), str(touched), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return float(output)


async def _touch(path: Path, count: int) -> int:
    """Open sessions one after another, with a turn in each; how many kilobytes that took."""
    sessions = Sessions(make_services(SqlStore(path), path.with_suffix("")))
    await sessions.start()
    await _one_turn(sessions, _session(MANY - 1))
    before = _kilobytes()
    for number in range(count):
        await _one_turn(sessions, _session(number))
    grown = _kilobytes() - before
    await sessions.close()
    return grown


async def _one_turn(sessions: Sessions, session: SessionId) -> None:
    manager = await sessions.open(session)
    turn = make_turn(session)
    manager.begin_turn(turn)
    await manager.end_turn(turn, end=TurnEnd.ANSWERED)


def _kilobytes() -> int:
    """Memory of this process that is not swapped out, as Linux counts it."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


async def _fill(path: Path, count: int) -> None:
    """Write sessions, each with its agents, one finished run and its messages."""
    store = SqlStore(path)
    await store.open()
    for numbers in batched(range(count), _AT_ONCE):
        await asyncio.gather(*(_add(store, number) for number in numbers))
    await store.close()


async def _add(store: Store, number: int) -> None:
    session = _session(number)
    await store.save_session(SessionRecord(session=session, created_at=EPOCH, last_active_at=EPOCH))
    for each in range(_AGENTS):
        await store.save_agent(session, _agent(number, each))
    task = Run(
        run_id=RunId(f"run{number}"),
        session=session,
        agent=AgentName("agent0"),
        conversation=_conversation(number, 0),
        input="Look it up.",
        owner=OwnerId("alice"),
        created_at=EPOCH,
    )
    await store.add_runs([task])
    messages = [
        StoredMessage(
            conversation=task.conversation,
            seq=seq,
            run_id=task.run_id,
            body={"role": role, "content": "word " * 50},
            at=EPOCH,
        )
        for seq, role in enumerate(("user", "assistant"), start=1)
    ]
    over = replace(task, state=RunState.COMPLETED, finished_at=EPOCH, last_text="42")
    await store.write_run(RunWrite(run=over, messages=messages))


def _session(number: int) -> SessionId:
    return SessionId(f"bench:FriendMessage:{number}")


def _conversation(number: int, agent: int) -> ConversationId:
    return ConversationId(f"memory{number}of{agent}")


def _agent(number: int, each: int) -> SubAgentConfig:
    return SubAgentConfig(
        name=AgentName(f"agent{each}"),
        system_prompt="You look things up. " * 20,
        description="Looks things up.",
        tools=("web_search",),
        protected=True,
        owner=OwnerId("alice"),
        conversation=_conversation(number, each),
        created_at=EPOCH,
    )


if __name__ == "__main__":
    print(asyncio.run(_touch(Path(sys.argv[1]), int(sys.argv[2]))))
