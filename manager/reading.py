"""Who may read which run, and what an id or a name means: a run, a group, an agent's tasks."""

from collections.abc import Collection, Sequence

from .errors import NotPermitted, RunNotFound
from .models import Asker, GroupId, MessageBody, Run, RunId, RunStep
from .roster import Roster
from .runs.desk import RunDesk
from .store.protocol import Store

_MOST_MESSAGES = 10_000
"""Of a conversation, of which a run is a part."""


class RunReader:
    """Finds the runs of one session for a user."""

    def __init__(self, store: Store, runs: RunDesk, roster: Roster) -> None:
        self._store = store
        self._runs = runs
        self._roster = roster

    def may_read(self, run: Run, asker: Asker) -> bool:
        """Whether a user may see the words of a run, wait for it and stop it."""
        return run.owner == asker.owner or asker.is_admin

    async def run(self, run_id: str, asker: Asker) -> Run:
        """One run.

        Raises:
            RunNotFound: No such run here.
            NotPermitted: It is another user's, and the asker is no admin.
        """
        run = await self._runs.find(run_id)
        if not self.may_read(run, asker):
            raise NotPermitted(f"Task {run.run_id}")
        return run

    async def runs(self, ids: Collection[str], asker: Asker) -> list[Run]:
        """The runs that ids of runs and groups name, without doubles, in their order.

        Raises:
            RunNotFound: One names neither a run nor a group of this session.
            NotPermitted: One is another user's, and the asker is no admin.
        """
        found: dict[RunId, Run] = {}
        for each in dict.fromkeys(ids):
            for run in await self._named(each):
                if not self.may_read(run, asker):
                    raise NotPermitted(f"Task {each}")
                found[run.run_id] = run
        return list(found.values())

    async def transcript(self, run: Run) -> list[MessageBody]:
        """The messages of a run that the store has, oldest first; a fork's own ones.

        Where its agent is gone, and the messages with it, its tool calls as the journal has them.
        """
        rows = await self._store.load_messages(run.conversation, newest=_MOST_MESSAGES)
        if own := [row.body for row in rows if row.run_id == run.run_id]:
            return own
        steps = await self._store.run_steps(run.run_id)
        return [body for step in steps for body in _as_messages(step)]

    async def unfinished_or_newest(self, names: Sequence[str], asker: Asker) -> list[RunId]:
        """All unfinished runs of these agents that the asker may read, else each one's newest.

        Raises:
            AgentNotFound: No agent and no run of that name.
        """
        found: list[RunId] = []
        for name in dict.fromkeys(names):
            mine = [run for run in self._runs.live(name) if self.may_read(run, asker)]
            if not mine:
                runs = await self._runs.of_agent(name)
                if not runs:
                    self._roster.get(name)
                # another's is refused where it is read, so that the error names it
                mine = [run for run in runs if self.may_read(run, asker)][:1] or runs[:1]
            found.extend(run.run_id for run in mine)
        return found

    async def _named(self, each: str) -> list[Run]:
        try:
            return [await self._runs.find(each)]
        except RunNotFound:
            group = await self._runs.group(GroupId(each))
            if not group:
                raise
            return group


def _as_messages(step: RunStep) -> tuple[MessageBody, MessageBody]:
    function = {"name": step.name, "arguments": step.arguments}
    return (
        {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
        {"role": "tool", "content": step.output},
    )
