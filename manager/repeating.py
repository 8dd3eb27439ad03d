"""Doing a finished task once more: a new run of the same brief, with a group of its own.

Its group is its own, so that the results of the old one do not wait for it; a fork takes what the
old group began with along. What it depends on are the newest completed runs of those tasks.
"""

from collections.abc import Sequence
from dataclasses import replace

from .delegation import Delegation, name_of
from .errors import AlreadyRunning, LimitReached, PredecessorMissing, RunNotFound
from .fork_context import ForkContext
from .models import ConversationId, GroupId, OwnerId, Run, RunId, RunKind, RunState, Usage
from .roster import Roster
from .runs.desk import RunDesk
from .services import Services

_LOOKED_AT = 1_000
"""Runs among which those that repeat a predecessor are looked for."""


class Repeating:
    """Repeats runs of one session."""

    def __init__(
        self, services: Services, roster: Roster, runs: RunDesk, delegation: Delegation
    ) -> None:
        self._services = services
        self._roster = roster
        self._runs = runs
        self._delegation = delegation

    async def start(self, old: Run) -> Run:
        """Start a run that is over once more; see `Guiding.retry`."""
        group_id = GroupId(self._services.clock.new_id()) if old.group_id is not None else None
        fork = await self._fork(old, group_id)
        new = replace(self._again(old), group_id=group_id, depends_on=await self._depends_on(old))
        # nothing comes between these looks and the start
        new = replace(new, conversation=self._conversation(new))
        self._refuse_second(new)
        self._refuse_too_many(new.owner)
        (run,) = await self._runs.start_group([new], self._services.settings(), fork=fork)
        return run

    def _again(self, old: Run) -> Run:
        return replace(
            old,
            run_id=RunId(self._services.clock.new_id()),
            parent=_first(old),
            background=True,
            state=RunState.QUEUED,
            # a user asks for it, now
            origin=replace(old.origin, turn_id="", generation=0),
            created_at=self._services.clock.now(),
            started_at=None,
            finished_at=None,
            model="",
            steps=0,
            usage=Usage(),
            tools_given=0,
            tools_used=(),
            last_text="",
            artifacts=(),
            question="",
            cut_short="",
            failure=None,
            fence=0,
        )

    def _conversation(self, new: Run) -> ConversationId:
        if new.agent is None:
            return ConversationId(new.run_id)
        return self._roster.get(new.agent).conversation

    async def _fork(self, old: Run, group_id: GroupId | None) -> ForkContext | None:
        """What a fork began with, as its new group's own."""
        if old.kind is not RunKind.FORK or old.group_id is None or group_id is None:
            return None
        fork = await self._services.store.fork_context(old.session, old.group_id)
        if fork is None:
            raise RunNotFound(old.group_id)
        return replace(fork, group_id=group_id)

    async def _depends_on(self, old: Run) -> tuple[RunId, ...]:
        if not old.depends_on:
            return ()
        newest = await self._runs.newest(_LOOKED_AT)
        return tuple([await self._completed(each, old, newest) for each in old.depends_on])

    async def _completed(self, run_id: RunId, old: Run, newest: Sequence[Run]) -> RunId:
        """The newest completed run of the task that a run is of."""
        before = await self._found(run_id)
        first = _first(before) if before is not None else run_id
        same = [run for run in newest if _first(run) == first]
        for run in (*same, before, await self._found(first)):
            if run is not None and run.state is RunState.COMPLETED:
                return run.run_id
        raise PredecessorMissing(old.run_id, name_of(before) if before else run_id, first)

    async def _found(self, run_id: RunId) -> Run | None:
        try:
            return await self._runs.find(run_id)
        except RunNotFound:
            # deleted since it was over for long
            return None

    def _refuse_second(self, new: Run) -> None:
        """Refuse what is being done once more already, or is under way with the same words."""
        for run in self._runs.live():
            if run.parent == new.parent:
                raise AlreadyRunning(name_of(run), run.run_id)
        self._delegation.refuse_double(new.agent, new.input, new.image_urls, new.owner)

    def _refuse_too_many(self, owner: OwnerId) -> None:
        most = self._services.settings().starts_per_turn
        again = [run for run in self._runs.live() if run.parent is not None and run.owner == owner]
        if len(again) >= most:
            raise LimitReached("tasks done once more at a time", most, key="starts_per_turn")


def _first(run: Run) -> RunId:
    """The run that a run repeats, else itself."""
    return run.parent or run.run_id
