"""The pace at which runs begin: two in each pass of the event loop.

To begin a run is work that nothing interrupts, some milliseconds of it in the platform. Hundreds
that may begin at the same moment would hold up all else in the process.
"""

import asyncio
from collections import deque

_IN_ONE_PASS = 2


class Pace:
    """One per process; whoever comes first is let go first."""

    def __init__(self) -> None:
        self._left = _IN_ONE_PASS
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_due = False

    async def turn(self) -> None:
        """Wait for one's turn; at once as long as few have come in this pass of the loop."""
        loop = asyncio.get_running_loop()
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._next_pass)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_pass(self) -> None:
        self._left = _IN_ONE_PASS
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            # whoever was cancelled meanwhile takes no turn
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        self._is_due = self._left < _IN_ONE_PASS
        if self._is_due:
            asyncio.get_running_loop().call_soon(self._next_pass)
