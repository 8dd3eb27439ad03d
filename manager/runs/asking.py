"""A run's question to its principal: open until it is answered, or nobody answers in time."""

import asyncio

from ..host import Clock

USER = "user"
"""Stands for the user in `Asking.shown_to`: they were sent the question as a message."""


class Asking:
    """The questions of one run, one after another."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answer: asyncio.Future[str | None] | None = None
        self._take_back = _nothing
        self.asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done while a question is open: whoever waits for the run should look."""
        self.shown_to = ""
        """Who has been shown the open question: a turn's id, `USER`, or "", nobody yet."""

    @property
    def is_open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._answer is not None and not self._answer.done()

    def answer(self, text: str) -> bool:
        """Answer the open question; False when there is none any more."""
        return self._settle(text)

    def show(self, to: str) -> None:
        """Note who has been shown the open question; "" is nobody any more.

        Once its user was sent it, that is how it stays: each turn of theirs would ask it again.
        """
        if not to or self.shown_to != USER:
            self.shown_to = to

    def open(self, seconds: float) -> asyncio.Future[str | None]:
        """Open a question; `close` must follow.

        Returns:
            The answer to come; None when nobody gives one in that time.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def give_up() -> None:
            self._settle(None)

        self._take_back = self._clock.call_at(self._clock.monotonic() + seconds, give_up)
        self._answer, self.shown_to = answer, ""
        self.asked.set_result(None)
        return answer

    def close(self) -> None:
        """Nobody waits for the answer any more."""
        self._take_back()
        self._take_back = _nothing
        self._settle(None)
        self._answer = None
        if self.asked.done():
            # who waited for the answer was stopped
            self.asked = asyncio.get_running_loop().create_future()

    def _settle(self, text: str | None) -> bool:
        """Let the open question be over; False when there is none."""
        if self._answer is None or self._answer.done():
            return False
        self._answer.set_result(text)
        # at once: who begins to wait for the run now does not wait for this question
        self.asked = asyncio.get_running_loop().create_future()
        return True


def _nothing() -> None:
    """No time-out is set."""
