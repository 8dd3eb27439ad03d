"""The demo's own database on a PostgreSQL server, and what happens in it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from .problem import Problem

USUAL_SERVER = "postgresql://postgres@127.0.0.1:5432/postgres"
DATABASE = "subagents_demo"
_CONNECT_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
_NEWEST = "SELECT coalesce(max(id), 0) FROM run"
_RUNS = "SELECT run_id, agent, kind, state, executor FROM run WHERE id > $1 ORDER BY id"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """How a task stands in the store."""

    run_id: str
    name: str
    state: str
    executor: str


async def own_database(environment: Mapping[str, str]) -> str:
    """Make the demo's database on the server that is given, unless it is there.

    Returns:
        Its address, as the plugin takes it.

    Raises:
        Problem: There is no server, or it does not let us.
    """
    given = environment.get("DATABASE_URL", "").strip()
    server = (given or USUAL_SERVER).replace("+asyncpg", "", 1)
    try:
        connection = await asyncpg.connect(server, timeout=_CONNECT_SECONDS)
        try:
            found = "SELECT 1 FROM pg_database WHERE datname = $1"
            if not await connection.fetch(found, DATABASE):
                await connection.execute(f"CREATE DATABASE {DATABASE}")
        finally:
            await connection.close()
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Problem(_what_to_do(given, error)) from error
    return urlunsplit(urlsplit(server)._replace(path=f"/{DATABASE}"))


def shown(url: str) -> str:
    """An address without its secret."""
    parts = urlsplit(url)
    return f"{parts.path.strip('/')} on {parts.hostname}:{parts.port or 5432}"


async def runs_seen(url: str) -> AsyncIterator[RunSeen]:
    """The tasks from now on, again and again, as the store has them."""
    connection = await asyncpg.connect(url, timeout=_CONNECT_SECONDS)
    try:
        (begin,) = await connection.fetchrow(_NEWEST)
        while True:
            for row in await connection.fetch(_RUNS, begin):
                yield RunSeen(
                    run_id=row["run_id"],
                    name=row["agent"] or row["kind"],
                    state=row["state"],
                    executor=row["executor"],
                )
            await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        await connection.close()


def _what_to_do(given: str, error: Exception) -> str:
    reason = str(error) or type(error).__name__
    if given:
        return (
            f"the PostgreSQL server in DATABASE_URL cannot be used: {reason}. It needs a user that "
            "may make a database, for example DATABASE_URL=postgresql://user:password@host:5432/postgres"
        )
    return (
        f"it needs a PostgreSQL server, and none can be used at 127.0.0.1:5432: {reason}. Start "
        "one, for example with\n  docker run --rm -p 127.0.0.1:5432:5432 -e "
        "POSTGRES_HOST_AUTH_METHOD=trust postgres:16\nor name yours, with a user that may make a "
        "database:\n  DATABASE_URL=postgresql://user:password@host:5432/postgres make workers"
    )
