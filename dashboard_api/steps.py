"""The steps of a run, read from its events: what each model call used, and how long things took.

A run's messages say nothing of that, and its events are kept for some days only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..manager.models import RunId
from ..manager.store.protocol import Store
from ..manager.stored_event import StoredEvent
from .replies import Tokens

_PAGE = 500
_MOST_PAGES = 40


@dataclass(slots=True, kw_only=True)
class Step:
    """One model call and the tool calls that it led to."""

    number: int
    at: datetime
    """When the model had answered."""
    tokens: Tokens
    seconds: float | None
    """None: what came before is not known."""
    tools: list[tuple[str, float]] = field(default_factory=list)
    """Names, and how many seconds each took, as they ended."""


async def events_of_run(store: Store, run_id: RunId) -> list[StoredEvent]:
    """All events of a run that are kept, oldest first."""
    found: list[StoredEvent] = []
    for _ in range(_MOST_PAGES):
        after = found[-1].event_id if found else 0
        page = await store.events_after(after, run_id=run_id, limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            break
    return found


def steps_of(events: Iterable[StoredEvent]) -> list[Step]:
    """The steps that events tell of, in their order."""
    steps: list[Step] = []
    before: datetime | None = None
    begun: list[tuple[str, datetime]] = []
    for event in events:
        if event.kind == "model.called":
            steps.append(_step(event, before))
            begun = []
        elif event.kind == "tool.started":
            begun.append((_name(event), event.at))
        elif event.kind == "tool.finished" and steps:
            _end_tool(steps[-1], begun, event)
        before = event.at
    return steps


def step_at(steps: Sequence[Step], at: datetime) -> Step | None:
    """The step in which a message was made; None before the first one, or when none is kept."""
    return next((step for step in reversed(steps) if step.at <= at), None)


def _step(event: StoredEvent, before: datetime | None) -> Step:
    payload: Mapping[str, Any] = event.payload
    sent, cached, output = payload.get("tokens", (0, 0, 0))
    return Step(
        number=payload.get("step", 0),
        at=event.at,
        tokens=Tokens(input=sent, cached=cached, output=output),
        seconds=_seconds(before, event.at) if before is not None else None,
    )


def _end_tool(step: Step, begun: list[tuple[str, datetime]], event: StoredEvent) -> None:
    for call in begun:
        if call[0] == _name(event):
            begun.remove(call)
            step.tools.append((call[0], _seconds(call[1], event.at)))
            return


def _name(event: StoredEvent) -> str:
    return str(event.payload.get("name", ""))


def _seconds(begin: datetime, end: datetime) -> float:
    return round(max(0.0, (end - begin).total_seconds()), 3)
