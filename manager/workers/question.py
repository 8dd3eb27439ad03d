"""The question of a run that is executed elsewhere, open where its chat is."""

import asyncio
from collections.abc import Callable

from ..models import Run, RunState
from ..runs.asking import Asking

_LONGER = 60.0
"""Seconds that it is open longer here: who executes the run decides when nobody answers."""


class OpenQuestion:
    """Opens and closes the question of one run as its row says."""

    def __init__(
        self, asking: Asking, seconds: float, answered: Callable[[str, str], None]
    ) -> None:
        """Set it up.

        Args:
            asking: Where those find it who answer.
            seconds: How long a question waits for its answer.
            answered: Told the question and its answer.
        """
        self._asking = asking
        self._seconds = seconds
        self._answered = answered
        self._is_open = False
        self._seen: tuple[object, ...] = ()
        self._fence = 0
        self._answer: str | None = None

    def see(self, run: Run) -> None:
        """Look at the run's row: a question of it that is new is opened."""
        if run.state is not RunState.WAITING:
            self.close()
            self._seen = ()
            return
        seen = (run.question, run.steps, run.tools_used)
        if (seen, run.fence) == (self._seen, self._fence):
            return
        is_known = seen == self._seen
        self._seen, self._fence = seen, run.fence
        if is_known and self._answer is not None:
            # who took the answer is gone with it
            self._answered(run.question, self._answer)
            return
        self.close()
        self._open(run.question)

    def _open(self, question: str) -> None:
        self._is_open, self._answer = True, None
        answer = self._asking.open(self._seconds + _LONGER)

        def give(answer: asyncio.Future[str | None]) -> None:
            text = None if answer.cancelled() else answer.result()
            if text is not None:
                self._answer = text
                self._answered(question, text)

        answer.add_done_callback(give)

    def close(self) -> None:
        """It is open here no more."""
        if self._is_open:
            self._is_open = False
            self._asking.close()
