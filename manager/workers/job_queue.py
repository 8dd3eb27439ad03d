"""Runs that wait for a process or are at work in one, as procrastinate's jobs in PostgreSQL.

This module alone knows procrastinate, and of that only the jobs, the locks, the register of workers
and the notifications. Its own worker is not used: see the decision.

Source: docs/decisions/0007-many-workers.md
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from procrastinate import PsycopgConnector, jobs
from procrastinate.exceptions import AlreadyEnqueued, ProcrastinateException
from procrastinate.manager import JobManager
from psycopg import AsyncConnection
from psycopg import Error as PsycopgError
from psycopg.errors import ForeignKeyViolation, RaiseException
from psycopg.sql import SQL, Identifier

from ..errors import StoreUnavailable
from ..models import RunId
from .pg_address import libpq_address
from .pg_schema import CONNECT_SECONDS, prepare

_TASK = "run"
_CONNECTIONS = 3
CALL_SECONDS = 5.0
"""How long one call may take: nobody waits for a connection that is broken without a word."""
_HOUR = 3600.0
_KNOWN = "SELECT DISTINCT lock FROM procrastinate_jobs WHERE lock = ANY(%(runs)s)"
_NOTIFY = "SELECT pg_notify(%(channel)s, %(payload)s)"


class NotRegistered(Exception):
    """The database does not know this worker: it was taken for dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run on its way to a process, or in one."""

    id: int
    run_id: RunId
    queue: str


class JobQueue:
    """The jobs of one store."""

    def __init__(self, dsn: str, *, seconds: float = CALL_SECONDS) -> None:
        """Connect to nothing yet.

        Args:
            dsn: `ServerAddress.dsn`.
            seconds: How long one call may take.
        """
        self._seconds = seconds
        self._address = libpq_address(dsn)
        self._connector: PsycopgConnector | None = None
        self._manager: JobManager | None = None

    @property
    def address(self) -> str:
        """The database's address as libpq reads it; a secret."""
        return self._address

    async def open(self) -> str:
        """Connect, and have the tables.

        Returns:
            The name of the schema they are in.

        Raises:
            StoreUnavailable: It cannot be done now; the text says what to do.
        """
        # They tell of each job and of each try to connect; what matters is said by the engine.
        for name in ("procrastinate", "psycopg"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        async with _asked(None):
            schema = await prepare(self._address)

        async def look_there(connection: AsyncConnection) -> None:
            path = SQL("SET search_path TO {}").format(Identifier(schema))
            await connection.execute(path)
            await connection.commit()

        self._connector = PsycopgConnector(
            conninfo=self._address,
            kwargs={"connect_timeout": CONNECT_SECONDS},
            configure=look_there,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=self._seconds,
            # Else the pauses between its tries grow to minutes while the database is away.
            reconnect_timeout=self._seconds,
        )
        self._manager = JobManager(self._connector)
        async with _asked(self._seconds):
            await self._connector.open_async()
        return schema

    async def close(self) -> None:
        """Close all connections; nothing that was opened is no error."""
        connector, self._connector, self._manager = self._connector, None, None
        if connector is not None:
            async with _asked(self._seconds):
                await connector.close_async()

    async def register(self) -> int:
        """Make this process known as a worker that lives; the number it goes by."""
        async with _asked(self._seconds):
            await self._jobs.prune_stalled_workers(_HOUR)
            return await self._jobs.register_worker()

    async def leave(self, worker: int) -> None:
        """This worker is no more."""
        async with _asked(self._seconds):
            await self._jobs.unregister_worker(worker)

    async def beat(self, worker: int) -> None:
        """This worker lives."""
        async with _asked(self._seconds):
            await self._jobs.update_heartbeat(worker)

    async def fetch(self, worker: int, queues: Sequence[str]) -> Job | None:
        """Take the job that has waited longest.

        Raises:
            NotRegistered: The database does not know the worker any more.
        """
        async with _asked(self._seconds):
            try:
                found = await self._jobs.fetch_job(list(queues), worker)
            except ProcrastinateException as error:
                if isinstance(error.__cause__, ForeignKeyViolation):
                    raise NotRegistered from None
                raise
        return _job(found) if found is not None else None

    async def add(self, run_id: RunId, queue: str) -> None:
        """Have a run wait in a queue, unless it waits in one already, or is at work."""
        async with _asked(self._seconds):
            if not await self._known([run_id]):
                await self._insert(run_id, queue)

    async def finish(self, job: Job) -> bool:
        """Forget a job; False when it is another's by now, or was forgotten already."""
        async with _asked(self._seconds):
            try:
                await self._jobs.finish_job_by_id_async(
                    job_id=job.id, status=jobs.Status.SUCCEEDED, delete_job=True
                )
            except ProcrastinateException as error:
                if isinstance(error.__cause__, RaiseException):
                    return False
                raise
        return True

    async def again(self, job: Job) -> None:
        """Bring a job of a worker that is gone to another one.

        It gets another id: should the one taken for dead wake up, it cannot end the job of its
        successor. When this process dies in between, the run is one of the `lost` ones.
        """
        if await self.finish(job):
            await self.add(job.run_id, job.queue)

    async def stalled(self, seconds: float) -> list[Job]:
        """Jobs whose workers have not said for so long that they live."""
        async with _asked(self._seconds):
            found = await self._jobs.get_stalled_jobs(seconds_since_heartbeat=seconds)
        return [_job(each) for each in found]

    async def held(self, worker: int) -> list[Job]:
        """Jobs that the database thinks are in this worker's hands."""
        async with _asked(self._seconds):
            found = await self._jobs.list_jobs_async(status="doing", worker_id=worker)
        return [_job(each) for each in found]

    async def known(self, run_ids: Collection[RunId]) -> set[RunId]:
        """Those of the runs that wait in a queue or are in hand."""
        async with _asked(self._seconds):
            return await self._known(run_ids)

    async def listen(self, queues: Sequence[str], heard: Callable[[], None]) -> None:
        """Call a function for each new job in the queues, until the connection breaks."""

        async def take(*, channel: str, notification: jobs.Notification) -> None:
            heard()

        async with _asked(None):
            await self._jobs.listen_for_jobs(on_notification=take, queues=list(queues))

    async def notify(self, channel: str, payload: str) -> None:
        """Tell all that listen at a channel."""
        async with _asked(self._seconds):
            await self._database.execute_query_async(_NOTIFY, channel=channel, payload=payload)

    async def _known(self, run_ids: Collection[RunId]) -> set[RunId]:
        rows = await self._database.execute_query_all_async(_KNOWN, runs=list(run_ids))
        return {RunId(row["lock"]) for row in rows}

    async def _insert(self, run_id: RunId, queue: str) -> None:
        job = jobs.Job(
            queue=queue,
            lock=run_id,
            queueing_lock=run_id,
            task_name=_TASK,
            task_kwargs={"run_id": run_id},
        )
        try:
            await self._jobs.defer_job_async(job)
        except AlreadyEnqueued:
            # Another process was quicker.
            return

    @property
    def _jobs(self) -> JobManager:
        if self._manager is None:
            raise StoreUnavailable("the connection is closed")
        return self._manager

    @property
    def _database(self) -> PsycopgConnector:
        if self._connector is None:
            raise StoreUnavailable("the connection is closed")
        return self._connector


def _job(found: jobs.Job) -> Job:
    return Job(id=found.id or 0, run_id=RunId(found.lock or ""), queue=found.queue)


@asynccontextmanager
async def _asked(seconds: float | None) -> AsyncIterator[None]:
    """Ask the database something; what goes wrong is `StoreUnavailable`, without a secret."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise StoreUnavailable("the database did not answer in time") from error
    except ProcrastinateException as error:
        raise StoreUnavailable(first_line(error.__cause__ or error)) from error
    except (PsycopgError, OSError) as error:
        raise StoreUnavailable(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """What a driver says of an error, which is no secret."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
