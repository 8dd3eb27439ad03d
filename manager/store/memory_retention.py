"""Letting old records of `MemoryStore` go."""

from datetime import datetime

from ..models import Run
from .memory_homes import MemoryHomes
from .memory_log import MemoryEvents
from .memory_runs import MemoryRuns
from .memory_tables import MemoryMessages, MemoryOutbox


class MemoryRetention:
    """Deletes what is old, a limited number of each kind at once."""

    def __init__(
        self,
        *,
        runs: MemoryRuns,
        messages: MemoryMessages,
        outbox: MemoryOutbox,
        events: MemoryEvents,
        homes: MemoryHomes,
    ) -> None:
        self._runs = runs
        self._messages = messages
        self._outbox = outbox
        self._events = events
        self._homes = homes

    def delete_old(
        self,
        *,
        events_before: datetime,
        steps_before: datetime,
        runs_before: datetime,
        limit: int,
    ) -> int:
        """Delete what is old; how many records went."""
        old = [run for run in self._finished(runs_before) if not self._outbox.is_open(run.run_id)]
        old = old[:limit]
        ids = {run.run_id for run in old}
        outdated = [run.run_id for run in self._finished(steps_before)]
        own = {(run.conversation, run.run_id) for run in old if run.agent is None}
        return (
            self._events.delete(
                lambda event: event.at < events_before or event.run_id in ids, limit
            )
            + self._runs.delete_steps([*outdated, *ids], limit)
            + self._messages.delete(own, limit)
            + self._outbox.delete(ids)
            + self._homes.forget_orders(ids)
            + self._runs.delete([run.run_id for run in old if self._is_bare(run)])
            + self._runs.delete_unused_forks(limit)
        )

    def _finished(self, before: datetime) -> list[Run]:
        """Runs that were over before this time, those first that ended first."""
        found = self._runs.where(
            lambda run: run.is_over and run.finished_at is not None and run.finished_at < before
        )
        return sorted(found, key=lambda run: run.finished_at or before)

    def _is_bare(self, run: Run) -> bool:
        """Whether nothing hangs on a run any more."""
        return not (
            self._runs.steps(run.run_id)
            or self._events.after(0, run_id=run.run_id)
            or (run.agent is None and self._messages.of_run(run.conversation, run.run_id))
        )
