"""What a process needs to share its work over PostgreSQL: one object to open and to close."""

from collections.abc import Callable

from .engine import Pace, ProcrastinateWorkforce
from .job_queue import JobQueue
from .pg_signals import PostgresSignals
from .ports import Sharing


class PostgresSharing:
    """One process's part in the work of a store."""

    def __init__(
        self, dsn: str, *, home: str, places: Callable[[int], bool], pace: Pace | None = None
    ) -> None:
        """Connect to nothing yet.

        Args:
            dsn: `ServerAddress.dsn` of the store.
            home: The name of this process.
            places: See `ProcrastinateWorkforce`.
            pace: How often the engine looks; None is as often as is good.
        """
        pace = pace or Pace()
        self._queue = JobQueue(dsn, seconds=pace.answer)
        self._signals = PostgresSignals(self._queue, home=home)
        self._workforce = ProcrastinateWorkforce(self._queue, home=home, places=places, pace=pace)
        self.sharing = Sharing(home=home, signals=self._signals, workforce=self._workforce)
        """What the core works with, from `open` on."""

    async def open(self) -> None:
        """Connect; nothing is executed before `Workforce.start`.

        Raises:
            StoreUnavailable: It cannot be done now; the text says what to do.
        """
        schema = await self._queue.open()
        await self._signals.open(channel=schema)

    def look(self) -> None:
        """There may be places now that there were not before."""
        self._workforce.look()

    async def close(self) -> None:
        """Part from the others; what this process has in hand is brought to them."""
        await self._workforce.close()
        await self._signals.close()
        await self._queue.close()
