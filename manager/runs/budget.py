"""What a run may spend.

Model calls, tokens of the run, tokens of its session and day, and how often the same tool call
may fail in a row.
"""

from datetime import datetime

from ..models import Failure, Run, Usage
from ..settings import Settings

FINAL_INSTRUCTION = (
    "You have reached your step limit: this is your last answer and you cannot use tools any "
    "more. Give what you have found, and say plainly what is unfinished."
)


class LimitHit(Exception):
    """A limit ends the run; it is no fault, so it is not part of the error tree."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.message)


class DayTokens:
    """The tokens a session has used today (UTC), kept up as its runs use them."""

    def __init__(self, *, day_start: datetime, used: int) -> None:
        self._day_start = day_start
        self._used = used

    def add(self, usage: Usage, at: datetime) -> None:
        """Count tokens used at this time."""
        self._turn_over(at)
        self._used += usage.total

    def used(self, at: datetime) -> int:
        """Tokens used on the day of `at`."""
        self._turn_over(at)
        return self._used

    def _turn_over(self, at: datetime) -> None:
        today = day_start(at)
        if today > self._day_start:
            self._day_start = today
            self._used = 0


def day_start(at: datetime) -> datetime:
    """The beginning of the day, in UTC."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


class Budget:
    """Checks one run against its limits before each model call."""

    def __init__(self, settings: Settings, day: DayTokens, *, max_steps: int) -> None:
        self._settings = settings
        self._day = day
        self._max_steps = max_steps
        self._failing: tuple[str, str] = ("", "")
        self._failures = 0

    def check_tokens(self, run: Run, at: datetime) -> None:
        """Refuse another model call when tokens are used up.

        Raises:
            LimitHit: The run's or the session's budget is spent.
        """
        per_run = self._settings.token_budget_per_run
        if per_run and run.usage.total >= per_run:
            raise LimitHit(
                Failure(
                    code="token_budget",
                    message=f"The token budget of a run is spent: {run.usage.total} of {per_run} "
                    "(setting `token_budget_per_run`).",
                )
            )
        per_day = self._settings.token_budget_per_session_day
        if per_day and (used := self._day.used(at)) >= per_day:
            raise LimitHit(
                Failure(
                    code="token_budget_day",
                    message=f"This chat's token budget for today is spent: {used} of {per_day} "
                    "(setting `token_budget_per_session_day`).",
                )
            )

    def calls_left(self, run: Run) -> int:
        """How many model calls the run may still make, the next one included.

        Returns:
            At least 1.

        Raises:
            LimitHit: The last one was made.
        """
        if run.steps >= self._max_steps:
            raise LimitHit(
                Failure(
                    code="step_limit",
                    message=f"The step limit of {self._max_steps} model calls is reached "
                    "(setting `max_steps`).",
                )
            )
        return self._max_steps - run.steps

    def spent(self, usage: Usage, at: datetime) -> None:
        """Count the tokens of a model call."""
        self._day.add(usage, at)

    def tool_ended(self, name: str, arguments: str, *, counted_as: str, is_error: bool) -> None:
        """Watch for the same call failing again and again.

        Args:
            name: The tool's name as the child gave it.
            arguments: JSON text.
            counted_as: The name that others may read.
            is_error: Whether the call failed.

        Raises:
            LimitHit: It failed as often in a row as the setting allows.
        """
        if not is_error:
            self._failures = 0
            return
        same = self._failing == (name, arguments)
        self._failures = self._failures + 1 if same and self._failures else 1
        self._failing = (name, arguments)
        if self._failures >= self._settings.same_call_limit:
            raise LimitHit(
                Failure(
                    code="same_call_limit",
                    message=f"The same call of `{counted_as}` failed {self._failures} times in a "
                    "row (setting `same_call_limit`).",
                )
            )
