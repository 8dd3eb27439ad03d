"""What must hold once all runs of a torture have ended.

    python -m torture.check FOLDER ADDRESS [frozen]

It prints what is wrong, else the figures, and its exit code says which.
"""

import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from astrbot_plugin_subagents.manager.models import (
    DeliveryState,
    Run,
    RunState,
    RunStep,
    SessionId,
    StepState,
    StoredMessage,
)
from astrbot_plugin_subagents.manager.store import SqlStore

from .traces import CHATS, CUT_OFF, TURNS, WRITES, Traces, items_of_turn

RUNS_PER_CHAT = 3


class Checker:
    """Holds the traces against the store."""

    def __init__(self, traces: Traces, store: SqlStore, *, frozen: bool) -> None:
        """Set it up.

        Args:
            traces: What the processes left.
            store: Their store.
            frozen: Whether processes were frozen for a while, too. A call that one was in the
                middle of then may take effect when it goes on, after another was told that its
                outcome is unknown, has looked, and did it; nobody can keep it from that.
        """
        self._traces = traces
        self._store = store
        self._frozen = frozen
        self.figures: Counter[str] = Counter()

    async def problems(self) -> list[str]:
        """Everything that is not as it must be."""
        found: list[str] = []
        for chat in CHATS:
            runs = await self._store.list_runs(SessionId(chat), limit=1_000)
            if len(runs) != RUNS_PER_CHAT:
                found.append(f"{len(runs)} runs in chat {chat}")
            for run in runs:
                found += [f"run {run.run_id}: {text}" for text in await self._of_run(run)]
        found += await self._of_deliveries()
        found += self._of_lost_turns()
        if left := await self._store.open_turns():
            found.append(f"turns are still kept: {[record.turn_id for record in left]}")
        return found

    async def _of_run(self, run: Run) -> list[str]:
        self.figures["runs"] += 1
        self.figures["takes"] += run.fence
        steps = await self._store.run_steps(run.run_id)
        messages = await self._store.load_messages(run.conversation, newest=100_000)
        found = [] if run.state is RunState.COMPLETED else [f"ended as {run.state}: {run.failure}"]
        found += self._of_effects(run, steps)
        found += self._of_unrecorded(run, steps, messages)
        found += _of_messages(messages)
        return found

    def _of_effects(self, run: Run, steps: list[RunStep]) -> Iterator[str]:
        """No call is repeated, none is left out, and the journal knows of each."""
        lines = self._traces.read("effects")
        written = Counter(line["item"] for line in lines if line["run"] == run.run_id)
        self.figures["calls"] += written.total()
        wanted = {item for turn in range(1, TURNS + 1) for item in items_of_turn(run.run_id, turn)}
        excused = self._unknown_to(run) if self._frozen else frozenset()
        twice = {item for item, count in written.items() if count > 1}
        self.figures["done by a frozen process after all"] += len(twice & excused)
        if twice - excused:
            yield f"was written more than once: {twice - excused}"
        if missing := wanted - set(written):
            yield f"was not written: {missing}"
        known = {_item(step) for step in steps if step.name == WRITES}
        if not_in_journal := set(written) - known:
            yield f"written, but not in the journal: {not_in_journal}"
        done = {_item(step) for step in steps if _is_done(step)}
        if without_effect := done - set(written):
            yield f"done in the journal, but not written: {without_effect}"

    def _unknown_to(self, run: Run) -> frozenset[str]:
        """Items of which a child was told that the outcome is unknown."""
        return frozenset(
            line["item"]
            for line in self._traces.read("told")
            if line["run"] == run.run_id and line["outcome"] == "outcome unknown"
        )

    def _of_unrecorded(
        self, run: Run, steps: list[RunStep], messages: list[StoredMessage]
    ) -> Iterator[str]:
        """The child was told of every call that its messages do not hold."""
        told: defaultdict[str, set[str]] = defaultdict(set)
        for line in self._traces.read("told"):
            if line["run"] == run.run_id:
                told[line["outcome"]].add(line["item"])
        recorded = {_item_of(call) for each in messages for call in _calls(each) if _writes(call)}
        intents = {_item(step) for step in steps if step.state is StepState.INTENT}
        unrecorded = {_item(step) for step in steps if _is_done(step)} - recorded
        self.figures["unknown outcomes"] += len(intents)
        self.figures["done but unrecorded"] += len(unrecorded)
        if untold := intents - told["outcome unknown"]:
            yield f"its child was not told that the outcome is unknown: {untold}"
        if untold := unrecorded - told["done"]:
            yield f"its child was not told what is done: {untold}"

    async def _of_deliveries(self) -> list[str]:
        """Each result was handed over once; a kill before it was settled brings it again."""
        rows = [
            row
            for chat in CHATS
            for row in await self._store.load_deliveries(
                SessionId(chat), states=tuple(DeliveryState)
            )
        ]
        states = Counter(row.state.value for row in rows)
        expected = len(CHATS) * RUNS_PER_CHAT
        found = [] if states == {"acknowledged": expected} else [f"deliveries: {dict(states)}"]
        lives: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for line in self._traces.read("deliveries"):
            for each in line["ids"]:
                lives[each].append((line["life"], line["event"]))
        self.figures["deliveries"] = len(lives)
        wanted = {row.delivery_id for row in rows} | {f"turn of {chat}" for chat in CUT_OFF}
        if lives.keys() != wanted:
            found.append(f"delivered {sorted(lives)} instead of {sorted(wanted)}")
        for each, events in lives.items():
            self.figures["brought again after a kill"] += len({life for life, _ in events}) - 1
            found += [f"result {each}: {text}" for text in _of_events(events)]
        return found

    def _of_lost_turns(self) -> Iterator[str]:
        """A turn that was cut off is brought with its message, its calls and all its results."""
        chats = {line["run"]: line["chat"] for line in self._traces.read("runs")}
        for line in self._traces.read("lost"):
            if line["message"] != f"Write, {line['turn'].removeprefix('turn of ')}.":
                yield f"lost turn {line['turn']}: its message is {line['message']!r}"
            if line["calls"] != ["transfer_to_ann", "transfer_to_ben", "task"]:
                yield f"lost turn {line['turn']}: its calls are {line['calls']}"
        for line in self._traces.read("deliveries"):
            for turn in (each for each in line["ids"] if each.startswith("turn of ")):
                mine = {run for run, chat in chats.items() if f"turn of {chat}" == turn}
                if not mine <= set(line["ids"]):
                    yield f"lost {turn}: it came without {mine - set(line['ids'])}"


def _of_messages(messages: list[StoredMessage]) -> Iterator[str]:
    """The sequence has no gap, and each call has its answer right behind it."""
    if [each.seq for each in messages] != list(range(1, len(messages) + 1)):
        yield f"its messages have gaps: {[each.seq for each in messages]}"
    open_calls: list[str] = []
    for message in messages:
        if message.body["role"] == "tool":
            if message.body["tool_call_id"] not in open_calls:
                yield f"message {message.seq} answers no call"
            else:
                open_calls.remove(message.body["tool_call_id"])
        elif open_calls:
            yield f"calls without an answer before message {message.seq}"
            open_calls.clear()
        open_calls += [call["id"] for call in _calls(message)]
    if Counter(each.body["role"] for each in messages)["user"] != 1:
        yield "its task is not there once"


def _of_events(events: list[tuple[int, str]]) -> Iterator[str]:
    """What happened to one result, in the order in which it was written down."""
    if len(set(events)) < len(events):
        yield f"handed over twice by one process: {events}"
    settled = [place for place, (_, event) in enumerate(events) if event == "acknowledged"]
    if settled and settled[0] < len(events) - 1:
        yield f"handed over again after it was settled: {events}"


def _calls(message: StoredMessage) -> list[dict[str, Any]]:
    return list(message.body.get("tool_calls") or ())


def _writes(call: dict[str, Any]) -> bool:
    return bool(call["function"]["name"] == WRITES)


def _item_of(call: dict[str, Any]) -> str:
    return str(json.loads(call["function"]["arguments"])["item"])


def _item(step: RunStep) -> str:
    return str(json.loads(step.arguments)["item"])


def _is_done(step: RunStep) -> bool:
    return step.name == WRITES and step.state is StepState.DONE


async def check(folder: Path, address: str, *, frozen: bool) -> int:
    """Check a torture; the exit code."""
    store = SqlStore(address if "://" in address else Path(address))
    await store.open()
    try:
        checker = Checker(Traces(folder=folder), store, frozen=frozen)
        problems = await checker.problems()
    finally:
        await store.close()
    figures = (f"{count} {what}" for what, count in checker.figures.items())
    lines = [*(f"WRONG: {problem}" for problem in problems), ", ".join(figures)]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(problems))


if __name__ == "__main__":
    _, where, at, *more = sys.argv
    sys.exit(asyncio.run(check(Path(where), at, frozen="frozen" in more)))
