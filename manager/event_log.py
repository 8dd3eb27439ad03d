"""The event log: what happened to agents and runs, kept for whoever looks later.

Events are gathered and written in batches, so that no step of a run waits for it; what a kill takes
along is the last moment of a timeline, never a result.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import StoreError
from .events import (
    AgentChanged,
    AgentCreated,
    AgentRemoved,
    BoardChanged,
    Event,
    ModelCalled,
    RunChanged,
    ToolFinished,
    ToolStarted,
)
from .models import RunId
from .runs.supervisor import Supervisor
from .services import Services
from .stored_event import StoredEvent

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 2.0
"""How long an event waits for others at most."""
_SOON_SECONDS = 0.05
"""The same while somebody follows what is kept."""
_BATCH = 100
"""So many are written at once without waiting."""
_MOST_WAITING = 5_000
"""Beyond so many that the store does not take, the oldest go."""
_LONGEST = 1_000
"""Characters of a text in an event; the journal and the conversation have it whole."""


class EventLog:
    """Writes the events of one process."""

    def __init__(self, services: Services, supervisor: Supervisor) -> None:
        self._services = services
        self._supervisor = supervisor
        self._waiting: list[StoredEvent] = []
        self._take_back: Callable[[], None] | None = None
        self._is_writing = False
        self._unsubscribe = services.bus.subscribe(self.hear)
        self._told: list[Callable[[Sequence[StoredEvent]], None]] = []
        self._followers = 0
        self._is_closed = False

    async def close(self) -> None:
        """Write what has gathered, and hear of nothing more."""
        self._is_closed = True
        self._unsubscribe()
        if self._take_back is not None:
            self._take_back()
        await self._write()

    def when_kept(self, told: Callable[[Sequence[StoredEvent]], None]) -> None:
        """Tell somebody of the events that are in the store from now on."""
        self._told.append(told)

    def follow(self, told: Callable[[Sequence[StoredEvent]], None]) -> Callable[[], None]:
        """Tell somebody as `when_kept` does, and write soon after something happened.

        Returns:
            A function that ends it.
        """
        self._told.append(told)
        self._followers += 1
        if self._take_back is not None:
            self._write_later()
        is_following = True

        def unfollow() -> None:
            nonlocal is_following
            if is_following:
                is_following = False
                self._followers -= 1
                self._told.remove(told)

        return unfollow

    def hear(self, happened: Event) -> None:
        """Keep an event; one that another process has kept is left out."""
        if happened.retold or (event := _stored(happened)) is None:
            return
        self._waiting.append(event)
        del self._waiting[:-_MOST_WAITING]
        if len(self._waiting) >= _BATCH and not self._is_writing:
            self._start()
        elif self._take_back is None:
            self._write_later()

    def _write_later(self, seconds: float | None = None) -> None:
        if self._take_back is not None:
            self._take_back()
        if seconds is None:
            seconds = _SOON_SECONDS if self._followers else _EVERY_SECONDS
        clock = self._services.clock
        self._take_back = clock.call_at(clock.monotonic() + seconds, self._start)

    def _start(self) -> None:
        if self._take_back is not None:
            self._take_back()
            self._take_back = None
        if not self._supervisor.closing and not self._is_writing:
            self._is_writing = True
            self._supervisor.start(self._write(), name="event log")

    async def _write(self) -> None:
        events, self._waiting = self._waiting, []
        pause = None
        try:
            if events:
                await self._services.store.add_events(events)
                for told in tuple(self._told):
                    told(events)
        except StoreError:
            logger.exception("%d events could not be kept yet", len(events))
            self._waiting[:0] = events
            pause = _EVERY_SECONDS
        finally:
            self._is_writing = False
            # what came while this was writing may have found it busy when its time was over
            if self._waiting and self._take_back is None and not self._is_closed:
                self._write_later(pause)


def _stored(happened: Event) -> StoredEvent | None:
    """The event as it is kept; None for those that are not."""
    found = _of_run(happened) or _of_session(happened)
    if found is None:
        return None
    run_id, payload = found
    return StoredEvent(
        session=happened.session, run_id=run_id, kind=happened.kind, payload=payload, at=happened.at
    )


def _of_run(happened: Event) -> tuple[RunId, Mapping[str, Any]] | None:
    match happened:
        case RunChanged(run=run):
            return run.run_id, {
                "state": run.state,
                "agent": run.agent,
                "background": run.background,
                "steps": run.steps,
                "failure": run.failure.code if run.failure else None,
            }
        case ModelCalled(run_id=run_id, step=step, text=text, usage=usage):
            tokens = [usage.input, usage.cached, usage.output]
            return run_id, {"step": step, "text": text[:_LONGEST], "tokens": tokens}
        case ToolStarted(run_id=run_id, name=name, arguments=arguments):
            return run_id, {"name": name, "arguments": arguments[:_LONGEST]}
        case ToolFinished(run_id=run_id, name=name, output=output, is_error=is_error):
            return run_id, {"name": name, "output": output[:_LONGEST], "is_error": is_error}
    return None


def _of_session(happened: Event) -> tuple[None, Mapping[str, Any]] | None:
    match happened:
        case AgentCreated(config=config, replaced=replaced):
            return None, {"name": config.name, "kind": config.kind, "replaced": replaced}
        case AgentChanged(config=config, change=change):
            return None, {"name": config.name, "change": change}
        case AgentRemoved(config=config):
            return None, {"name": config.name}
        case BoardChanged():
            return None, {}
    return None
