"""Runs, their journals and what forks begin with, of `MemoryStore`, in dictionaries."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ..errors import LostRun
from ..fork_context import ForkContext
from ..models import GroupId, Run, RunId, RunStep, SessionId
from .codec_runs import RUN_FIXED
from .memory_tables import refuse_known
from .texts import cleaned


class MemoryRuns:
    """Runs by their id, in the order in which they came."""

    def __init__(self) -> None:
        self._runs: dict[RunId, Run] = {}
        self._steps: dict[RunId, dict[str, RunStep]] = {}
        self._forks: dict[GroupId, ForkContext] = {}

    def add(self, runs: Sequence[Run], fork: ForkContext | None) -> None:
        """Insert new runs, and what the forks among them begin with."""
        new = {run.run_id: cleaned(run) for run in runs}
        refuse_known(len(new) < len(runs) or not self._runs.keys().isdisjoint(new))
        if fork is not None:
            refuse_known(fork.group_id in self._forks)
            self._forks[fork.group_id] = cleaned(fork)
        self._runs.update(new)

    def take(self, run: Run) -> Run | None:
        """Take an unfinished run; the stored one with its new fence."""
        stored = self._runs.get(run.run_id)
        if stored is None or stored.is_over:
            return None
        taken = replace(
            stored,
            state=run.state,
            executor=run.executor,
            started_at=run.started_at,
            fence=stored.fence + 1,
        )
        self._runs[run.run_id] = cleaned(taken)
        return self._runs[run.run_id]

    def check(self, run: Run) -> None:
        """Refuse to write a run that is over, or somebody else's.

        Raises:
            LostRun: It is.
        """
        stored = self._runs.get(run.run_id)
        if stored is None or stored.is_over or stored.fence != run.fence:
            raise LostRun(run.run_id)

    def write(self, run: Run, steps: Sequence[RunStep]) -> None:
        """Write one moment of a run that was checked."""
        stored = self._runs[run.run_id]
        fixed = {name: getattr(stored, name) for name in RUN_FIXED}
        self._runs[run.run_id] = cleaned(replace(run, **fixed))
        for step in steps:
            self._steps.setdefault(step.run_id, {})[step.key] = cleaned(step)

    def get(self, session: SessionId, run_id: RunId) -> Run | None:
        """One run of this session."""
        run = self._runs.get(run_id)
        return run if run is not None and run.session == session else None

    def where(self, wanted: Callable[[Run], object]) -> list[Run]:
        """The runs of which it is true, oldest first."""
        return sorted(filter(wanted, self._runs.values()), key=lambda run: run.created_at)

    def newest(self, wanted: Callable[[Run], object], most: int) -> list[Run]:
        """The newest runs of which it is true; of those made at one time the last added first."""
        return self.where(wanted)[::-1][:most]

    def steps(self, run_id: RunId) -> list[RunStep]:
        """The journal of a run, in the order in which its entries began."""
        return list(self._steps.get(run_id, {}).values())

    def fork(self, session: SessionId, group_id: GroupId) -> ForkContext | None:
        """What the forks of a group of this session begin with."""
        fork = self._forks.get(group_id)
        return fork if fork is not None and fork.session == session else None

    def delete(self, run_ids: Collection[RunId]) -> int:
        """Delete runs; how many went."""
        for run_id in run_ids:
            del self._runs[run_id]
            self._steps.pop(run_id, None)
        return len(run_ids)

    def delete_steps(self, run_ids: Iterable[RunId], most: int) -> int:
        """Delete journal entries of runs, as many as are allowed; how many went."""
        kept = (self._steps.get(run_id, {}) for run_id in dict.fromkeys(run_ids))
        gone = [(steps, key) for steps in kept for key in steps][:most]
        for steps, key in gone:
            del steps[key]
        return len(gone)

    def delete_unused_forks(self, most: int) -> int:
        """Delete what forks began with where no run of their group is left; how many went."""
        used = {run.group_id for run in self._runs.values()}
        gone = [group for group in self._forks if group not in used][:most]
        for group in gone:
            del self._forks[group]
        return len(gone)

    def forget(self, session: SessionId) -> None:
        """Delete the session's runs with their journals, and its fork contexts."""
        for run in self.where(lambda run: run.session == session):
            del self._runs[run.run_id]
            self._steps.pop(run.run_id, None)
        for fork in [fork for fork in self._forks.values() if fork.session == session]:
            del self._forks[fork.group_id]
