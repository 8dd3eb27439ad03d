"""Stopping runs: one, a group, those of an agent; each end is written before it is told."""

from .errors import NotPermitted, RunAlreadyFinished, ShuttingDown
from .models import Asker, Run, RunId, StopReason
from .reading import RunReader
from .roster import Roster
from .runs.desk import RunDesk


class Stopping:
    """Stops the runs of one session."""

    def __init__(self, runs: RunDesk, reader: RunReader, roster: Roster) -> None:
        self._runs = runs
        self._reader = reader
        self._roster = roster

    async def stop(self, task_id: str, asker: Asker, reason: StopReason) -> list[Run]:
        """Stop a run, or all unfinished runs of a group.

        Returns:
            The runs that were stopped, with what they had.

        Raises:
            RunNotFound: No such run or group here.
            NotPermitted: It is another user's.
            RunAlreadyFinished: All of it is over.
            ShuttingDown: The plugin is being stopped; the rest goes on after that.
        """
        runs = await self._reader.runs([task_id], asker)
        unfinished = [run.run_id for run in runs if not run.is_over]
        ended = await self._stopped(unfinished, reason)
        if ended:
            return ended
        now = [await self._runs.find(run.run_id) for run in runs]
        if any(not run.is_over for run in now):
            raise ShuttingDown
        raise RunAlreadyFinished(task_id, now[0].state if len(now) == 1 else "finished")

    async def stop_agent(self, name: str, asker: Asker, reason: StopReason) -> list[Run]:
        """Stop all unfinished runs of an agent that the asker may stop.

        Returns:
            The runs that were stopped, with what they had.

        Raises:
            AgentNotFound: No agent of that name, and no run of one.
            NotPermitted: All its unfinished runs are other users'.
        """
        live = self._runs.live(name)
        if not live:
            self._roster.get(name)
            return []
        mine = [run.run_id for run in live if self._reader.may_read(run, asker)]
        if not mine:
            raise NotPermitted(f"The work of sub-agent {name!r}")
        return await self._stopped(mine, reason)

    async def stop_all_of(self, asker: Asker, reason: StopReason) -> list[Run]:
        """Stop the asker's own unfinished runs; an admin's stop is for everyone's.

        Returns:
            The runs that were stopped, with what they had.
        """
        mine = [run.run_id for run in self._runs.live() if self._reader.may_read(run, asker)]
        return await self._stopped(mine, reason)

    async def _stopped(self, run_ids: list[RunId], reason: StopReason) -> list[Run]:
        ended = await self._runs.stopped(run_ids, reason)
        return [run for run in ended if run.is_over]
