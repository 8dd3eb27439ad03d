"""What is to be brought to the users of one session because no turn of theirs will take it.

The order of takers: a waiting tool call, the running turn of the same owner, then one wake-up turn
per owner for all that is finished, at last a plain message. The first two take what they want; here
is decided on the others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .messenger import Errand, Way
from .models import Asker, Origin, OwnerId, Run, RunId, RunState, SessionId
from .runs.desk import RunDesk
from .settings import Settings
from .turn_log import TurnLog
from .turn_record import TurnRecord

_MOST = 50
"""Results of one errand; more come with the next."""
_LOOKED_AT = 1_000
"""Results of one user that are looked at: many of them may be worth no turn."""
_LONGEST_CHAIN = 3
"""Wake-up turns that come one out of another without a word of a user."""


class Errands:
    """Finds the errands of one session."""

    def __init__(
        self,
        session: SessionId,
        runs: RunDesk,
        log: TurnLog,
        *,
        has_turn: Callable[[OwnerId], bool],
        new_id: Callable[[], str],
    ) -> None:
        """Set it up.

        Args:
            session: The chat.
            runs: Its runs and results.
            log: Its turns that a restart cut off.
            has_turn: Whether a turn of this user is under way.
            new_id: Makes ids.
        """
        self._session = session
        self._runs = runs
        self._log = log
        self._has_turn = has_turn
        self._new_id = new_id
        self._held: set[str] = set()
        """Results that wait for the next turn of their owner, who wants quiet."""

    def hold(self, asker: Asker) -> None:
        """Leave what is on its way to a user to their next turn; an admin's word is for everyone.

        For who has just stopped everything: an answer to it would be the opposite.
        """
        rows = self._runs.results.outbox.open()
        self._held &= {row.delivery_id for row in rows}
        self._held.update(
            row.delivery_id for row in rows if asker.is_admin or row.owner == asker.owner
        )

    def is_held(self, errand: Errand) -> bool:
        """Whether nothing of an errand is worth a turn any more since its owner wants quiet."""
        return not errand.lost and not any(map(self._wakes, errand.runs))

    async def due(self, settings: Settings, *, is_off: bool) -> list[Errand]:
        """What is to be brought now, oldest first.

        Args:
            settings: How results are delivered.
            is_off: Whether the plugin is off for the chat: then all is told as it is.
        """
        errands = [
            self._errand(Way.ASK, run.owner, [run])
            for run in self._runs.questions.unshown()
            if not self._has_turn(run.owner)
        ]
        owners = (*self._runs.results.outbox.owners(), *self._log.lost_owners())
        for owner in dict.fromkeys(owners):
            if not self._has_turn(owner):
                runs = await self._runs.results.pending(owner, _LOOKED_AT)
                errands.extend(self._of_results(owner, runs, settings, is_off=is_off))
        return errands

    def is_still_due(self, errand: Errand) -> bool:
        """Whether nobody has begun to take what an errand brings since it was found."""
        if self._has_turn(errand.owner):
            return False
        ids = {run.run_id for run in errand.runs}
        if errand.way is Way.ASK:
            return ids <= {run.run_id for run in self._runs.questions.unshown()}
        pending = self._runs.results.outbox.pending(errand.owner)
        lost = {record.turn_id for record in self._log.lost_of(errand.owner)}
        return ids <= {RunId(row.delivery_id) for row in pending} and all(
            record.turn_id in lost for record in errand.lost
        )

    def _of_results(
        self, owner: OwnerId, runs: list[Run], settings: Settings, *, is_off: bool
    ) -> Iterator[Errand]:
        most = settings.delivery.max_attempts
        worn_out = self._runs.results.tried_too_often(owner, most)
        # not even a message brings these: they wait for the next turn of their owner
        given_up = self._runs.results.tried_too_often(owner, 2 * most)
        unanswered = {} if is_off else self._unanswered(owner)
        at_work = self._runs.turns_at_work() & unanswered.keys()
        told: list[Run] = []
        rest: list[Run] = []
        for run in runs:
            if run.origin.turn_id in at_work:
                # it comes with the rest of its turn, which is answered as a whole
                continue
            relays = settings.delivery.mode == "relay" and run.origin.turn_id not in unanswered
            is_told = is_off or (self._wakes(run) and (relays or run.run_id in worn_out))
            (told if is_told and run.run_id not in given_up else rest).append(run)
        if told:
            yield self._errand(Way.TELL, owner, told[:_MOST])
        lost = [record for turn_id, record in unanswered.items() if turn_id not in at_work]
        if lost or any(self._wakes(run) for run in rest if run.run_id not in given_up):
            yield self._errand(Way.WAKE, owner, rest[:_MOST], lost)

    def _unanswered(self, owner: OwnerId) -> dict[str, TurnRecord]:
        """A user's turns that a restart cut off and that a wake-up turn is to answer."""
        return {
            record.turn_id: record
            for record in self._log.lost_of(owner)
            if not self._log.is_worn_out(record)
        }

    def _errand(
        self, way: Way, owner: OwnerId, runs: Sequence[Run], lost: Sequence[TurnRecord] = ()
    ) -> Errand:
        origins = [*(record.origin for record in lost), *(run.origin for run in runs)]
        return Errand(
            way=way,
            session=self._session,
            owner=owner,
            # what a wake-up turn starts is one step further from the word of a user
            origin=replace(origins[-1], generation=max(each.generation for each in origins) + 1),
            runs=tuple(runs),
            lost=tuple(lost),
            errand_id=self._new_id(),
        )

    def _wakes(self, run: Run) -> bool:
        """Whether a result is worth a turn of its own.

        What somebody stopped, what a turn waited for that is gone, and what ends a long chain of
        wake-ups, waits for the next turn instead.
        """
        is_new = run.background and run.state is not RunState.CANCELLED
        is_new = is_new and not wakes_nobody(run.origin)
        return is_new and run.run_id not in self._held


def wakes_nobody(origin: Origin) -> bool:
    """Whether results of what is asked for there wait for a message: a chain must have an end."""
    return origin.generation >= _LONGEST_CHAIN
