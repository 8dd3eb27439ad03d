"""Fills a store with as much as a busy bot has after months, within seconds.

A thousand chats with ten thousand runs in all states, one run of two thousand messages, agents,
notes, events and usage of many days; hostile texts stand wherever a text from outside can stand.
Rows are made by the store's own codecs and written past it in one transaction. It is always the
same store: times count back from one moment, and chance has a seed.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Table, create_engine

from astrbot_plugin_subagents.manager.models import (
    AgentName,
    ConversationId,
    DeliveryState,
    Failure,
    GroupId,
    Origin,
    OwnerId,
    Run,
    RunId,
    RunKind,
    RunState,
    SessionId,
    SessionRecord,
    SharedEntry,
    StoredMessage,
    SubAgentConfig,
    ToolUse,
    Usage,
    delivery_of,
)
from astrbot_plugin_subagents.manager.store import SqlStore, schema
from astrbot_plugin_subagents.manager.store.codec import (
    agent_values,
    entry_values,
    message_values,
    session_values,
)
from astrbot_plugin_subagents.manager.store.codec_log import event_values
from astrbot_plugin_subagents.manager.store.codec_runs import delivery_values, run_values
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.task_shape import TaskShape

from .hostile_texts import ALL as HOSTILE

MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""Now, where nobody says otherwise."""
MODELS = ("gpt-5-mini", "claude-haiku", "qwen3-30b", HOSTILE[0])
NAMES = ("Scout", "Writer", "Reviewer", "Tester", "Translator", "Archivist")
DAYS = 10
"""So long ago the oldest run was."""

_ENDS = (
    *[RunState.COMPLETED] * 78,
    *[RunState.FAILED] * 9,
    *[RunState.TIMED_OUT] * 4,
    *[RunState.CANCELLED] * 5,
    *[RunState.INTERRUPTED] * 4,
)
_LIVE = (*[RunState.RUNNING] * 12, *[RunState.WAITING] * 4, *[RunState.QUEUED] * 14)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is to be of each thing."""

    sessions: int = 1_000
    runs: int = 10_000
    messages: int = 2_000
    """Of the longest run."""
    notes: int = 300
    """On the board of the busiest chat."""
    events: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BigStore:
    """What a test needs to find its way in it."""

    path: Path
    size: Size
    busiest: SessionId
    """A tenth of all runs, all live ones, and a full board are there."""
    long_run: RunId
    """The one with very many messages, in the busiest chat."""
    live: tuple[RunId, ...]
    """Runs that have not ended, newest first."""
    asking: RunId
    """One of these, which waits for an answer."""


async def make_big_store(
    path: Path, *, now: datetime = MOMENT, size: Size | None = None
) -> BigStore:
    """Make the store at that path, which must not exist yet.

    Args:
        path: Where the SQLite file is to be.
        now: When the newest thing happened.
        size: How much; by default as the module says.
    """
    maker = _Maker(now, size or Size())
    store = SqlStore(path)
    await store.open()
    await store.close()
    _write(path, maker)
    live = [run.run_id for run in maker.runs if not run.is_over]
    asking = next(run.run_id for run in maker.runs if run.state is RunState.WAITING)
    return BigStore(
        path=path,
        size=maker.size,
        busiest=maker.sessions[0],
        long_run=maker.long_run.run_id,
        live=tuple(live),
        asking=asking,
    )


def _write(path: Path, maker: "_Maker") -> None:
    rows: dict[Table, Iterable[dict[str, Any]]] = {
        schema.session: map(session_values, maker.records()),
        schema.subagent: (agent_values(*each) for each in maker.agents()),
        # the oldest first, as they came
        schema.run: map(run_values, reversed(maker.runs)),
        schema.delivery: map(delivery_values, maker.deliveries()),
        schema.message: (message_values(*each) for each in maker.messages()),
        schema.shared_entry: (entry_values(maker.sessions[0], note) for note in maker.notes()),
        schema.run_event: map(event_values, maker.events()),
    }
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        for table, values in rows.items():
            connection.execute(table.insert(), list(values))
    engine.dispose()


class _Maker:
    def __init__(self, now: datetime, size: Size) -> None:
        self.now = now
        self.size = size
        self._chance = random.Random(1)
        self.sessions = [self._session(number) for number in range(size.sessions)]
        self.runs = list(self._runs())
        self.long_run = next(run for run in self.runs if run.state is RunState.COMPLETED)

    def _session(self, number: int) -> SessionId:
        kind = ("GroupMessage", "FriendMessage")[number % 2]
        adapter = ("telegram", "aiocqhttp", "webchat", "discord")[number % 4]
        tail = HOSTILE[number % len(HOSTILE)] if number % 50 == 49 else str(10_000 + number)
        return SessionId(f"{adapter}:{kind}:{tail}{'' if tail.isdigit() else number}")

    def records(self) -> Iterator[SessionRecord]:
        """The sessions, the busiest first."""
        for number, session in enumerate(self.sessions):
            active = self.now - timedelta(minutes=13 * number)
            yield SessionRecord(
                session=session,
                created_at=self.now - timedelta(days=30),
                last_active_at=active,
                memory_enabled=(None, True, False)[number % 3],
            )

    def agents(self) -> Iterator[tuple[SessionId, SubAgentConfig]]:
        """Three in each chat; their words are hostile here and there."""
        for number, session in enumerate(self.sessions):
            for place in range(3):
                name = NAMES[(number + place) % len(NAMES)]
                strange = (number + place) % 20 == 0 or number == 0
                text = HOSTILE[(number + place) % len(HOSTILE)] if strange else ""
                yield (
                    session,
                    SubAgentConfig(
                        name=AgentName(name),
                        system_prompt=f"You are the {name}. {text}",
                        description=f"Knows all of part {place}. {text}",
                        tools=("web_search", "read_file")[: place + 1],
                        owner=OwnerId("ann"),
                        protected=place == 0,
                        conversation=self._memory(number, name),
                        created_at=self.now - timedelta(days=9, minutes=number),
                    ),
                )

    def _memory(self, number: int, name: str) -> ConversationId:
        return ConversationId(f"memory {number} {name}")

    def _runs(self) -> Iterator[Run]:
        """All runs, newest first: those that live, then those that are over."""
        for number, state in enumerate(_LIVE):
            yield self._run(number, state, self.now - timedelta(seconds=20 + 15 * number))
        step = timedelta(days=DAYS) / self.size.runs
        for number in range(len(_LIVE), self.size.runs):
            created = self.now - timedelta(minutes=15) - step * number
            yield self._run(number, self._chance.choice(_ENDS), created)

    def _run(self, number: int, state: RunState, created: datetime) -> Run:
        # every tenth run is one of the busiest chat
        chat = 0 if number < len(_LIVE) or number % 10 == 0 else number % len(self.sessions)
        name = NAMES[(chat + number % 3) % len(NAMES)]
        is_task = number % 7 == 0
        run = Run(
            run_id=RunId(f"run{number:06d}"),
            session=self.sessions[chat],
            agent=None if is_task else AgentName(name),
            conversation=ConversationId(f"talk {number}") if is_task else self._memory(chat, name),
            kind=RunKind.TASK if is_task else RunKind.DELEGATE,
            group_id=GroupId(f"group{number // 21}") if is_task else None,
            task=TaskShape(label=f"part {number}", position=number % 3) if is_task else None,
            background=number % 2 == 0,
            input=self._words(number, "Look at chapter"),
            owner=OwnerId(("ann", "bob")[number % 2]),
            origin=Origin(adapter="telegram", sender_name=self._words(number, "Ann")),
            created_at=created,
        )
        return self._worked(self._stood(run, number, state), number)

    def _stood(self, run: Run, number: int, state: RunState) -> Run:
        """The run in its state, with the times and words that belong to it."""
        started = run.created_at + timedelta(seconds=number % 5)
        if state is RunState.QUEUED:
            return run
        run = replace(run, state=state, started_at=started, executor="process1", fence=1)
        if state is RunState.WAITING:
            return replace(run, question=self._words(number, "May I read"))
        if state is RunState.RUNNING:
            return run
        finished = started + timedelta(seconds=self._chance.randint(2, 600))
        run = replace(run, finished_at=min(finished, self.now))
        if state is RunState.COMPLETED:
            return replace(run, last_text=self._words(number, "This is what I found in chapter"))
        failure = Failure(code=f"why_{state.value}", message=self._words(number, "It ended at"))
        return replace(run, failure=failure)

    def _worked(self, run: Run, number: int) -> Run:
        """The run with what it used."""
        if run.started_at is None:
            return run
        calls = self._chance.randint(0, 9)
        usage = Usage(
            input=self._chance.randint(300, 9_000),
            cached=self._chance.randint(0, 20_000),
            output=self._chance.randint(20, 1_500),
        )
        return replace(
            run,
            steps=calls + 1,
            usage=usage,
            tools_given=12,
            tools_used=(ToolUse(name="web_search", calls=calls, errors=calls // 5),),
            model=MODELS[number % len(MODELS)],
        )

    def _words(self, number: int, plain: str) -> str:
        return f"{plain} {number}. " + (HOSTILE[number % len(HOSTILE)] if number % 9 == 3 else "")

    def deliveries(self) -> Iterator[Any]:
        """A row for each run that is over; a few have not arrived."""
        for number, run in enumerate(self.runs):
            if run.finished_at is not None:
                state = DeliveryState.PENDING if number % 400 == 0 else DeliveryState.ACKNOWLEDGED
                yield replace(delivery_of(run, run.finished_at), state=state, attempts=1)

    def messages(self) -> Iterator[tuple[SessionId, StoredMessage]]:
        """Of every run its task and answer; of the longest one a whole conversation."""
        counts: dict[ConversationId, int] = {}
        for run in reversed(self.runs):
            for body in self._talk(run):
                seq = counts[run.conversation] = counts.get(run.conversation, 0) + 1
                at = run.started_at or run.created_at
                message = StoredMessage(
                    conversation=run.conversation, seq=seq, run_id=run.run_id, body=body, at=at
                )
                yield run.session, message

    def _talk(self, run: Run) -> Iterator[dict[str, Any]]:
        yield {"role": "user", "content": run.input}
        if run is self.long_run:
            yield from self._long_talk(self.size.messages - 2)
        if run.last_text:
            yield {"role": "assistant", "content": run.last_text}

    def _long_talk(self, count: int) -> Iterator[dict[str, Any]]:
        for number in range(count // 2):
            function = {"name": "web_search", "arguments": f'{{"query": "part {number}"}}'}
            call = {"id": f"call{number}", "type": "function", "function": function}
            text = HOSTILE[number % len(HOSTILE)]
            lines = "\n".join([f"Line {line} of part {number}." for line in range(number % 12)])
            yield {"role": "assistant", "content": text, "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": f"call{number}", "content": f"{text}\n{lines}"}

    def notes(self) -> Iterator[SharedEntry]:
        """The board of the busiest chat."""
        kinds = ("status", "message", "system")
        for number in range(1, self.size.notes + 1):
            yield SharedEntry(
                seq=number,
                kind=kinds[number % 3],
                sender="main" if number % 3 == 2 else NAMES[number % 3],
                owner=OwnerId("ann"),
                content=self._words(number, "Found part"),
                at=self.now - timedelta(minutes=self.size.notes - number),
            )

    def events(self) -> Iterator[StoredEvent]:
        """Model and tool calls of the newest runs, oldest first."""
        worked = [run for run in self.runs if run.started_at is not None]
        for run in reversed(worked[: self.size.events // 4]):
            yield from self._events_of(run)

    def _events_of(self, run: Run) -> Sequence[StoredEvent]:
        assert run.started_at is not None
        usage = run.usage
        tokens = [usage.input, usage.cached, usage.output]
        told: tuple[tuple[str, dict[str, Any]], ...] = (
            ("run.changed", {"state": "running", "agent": run.agent, "steps": 0, "failure": None}),
            ("model.called", {"step": 1, "text": run.input, "tokens": tokens}),
            ("tool.started", {"name": "web_search", "arguments": "{}"}),
            ("tool.finished", {"name": "web_search", "output": run.input, "is_error": False}),
        )
        return [
            StoredEvent(session=run.session, run_id=run.run_id, kind=kind, payload=payload, at=at)
            for (kind, payload), at in zip(
                told, (run.started_at + timedelta(seconds=n) for n in range(4)), strict=True
            )
        ]
