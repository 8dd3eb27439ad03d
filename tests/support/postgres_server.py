"""A PostgreSQL server of a test's own, which it may stop, restart and kill.

The server of TEST_DATABASE_URL is shared by all tests that run at the time, so it is left alone. A
test module takes both fixtures by naming them, and marks itself:

    private_cluster = postgres_server.private_cluster
    private_server = postgres_server.private_server
    pytestmark = [pytest.mark.postgres, postgres_server.needs_programs]
"""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pytest

type StopMode = Literal["fast", "immediate"]
"""How a server goes: it breaks all connections off in both; `immediate` is a crash."""

HOST = "127.0.0.1"
STOP_SECONDS = 30.0
_START_ATTEMPTS = 100
_ATTEMPT_SECONDS = 0.1
_ACCOUNTS = ("postgres", "nobody")
"""Who runs it where the tests are run by root, for whom it refuses to start."""


def _programs() -> Path | None:
    """The folder of the newest PostgreSQL programs; Debian keeps them off PATH."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    folders = {each.parent for each in Path("/usr/lib/postgresql").glob("*/bin/initdb")}
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


PROGRAMS = _programs()
needs_programs = pytest.mark.skipif(not PROGRAMS, reason="no programs of a PostgreSQL server found")


class PostgresServer:
    """A cluster in a temporary folder, on a port of 127.0.0.1 that it keeps over restarts."""

    def __init__(self) -> None:
        """Make the cluster; it is not started."""
        assert PROGRAMS is not None
        self._bin = PROGRAMS
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._account = _account_for(self._folder)
        self.port = _free_port()
        self.data = self._folder / "data"
        self.log = self._folder / "log"
        subprocess.run(
            [
                f"{self._bin}/initdb",
                "--auth=trust",
                "--username=postgres",
                "--no-sync",
                str(self.data),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
            **self._account,
        )

    def url(self, database: str = "postgres") -> str:
        """The address of a database, as the plugin's setting takes it."""
        return f"postgresql+asyncpg://postgres@{HOST}:{self.port}/{database}"

    async def new_database(self) -> str:
        """Make an empty database.

        Returns:
            Its address.
        """
        name = f"store_{uuid4().hex}"
        await self.query(f"CREATE DATABASE {name}")
        return self.url(name)

    async def query(self, statement: str, url: str = "") -> list[Any]:
        """Run a statement past any store and return its rows."""
        driver = import_module("asyncpg")
        connection = await driver.connect((url or self.url()).replace("+asyncpg", "", 1))
        try:
            rows: list[Any] = await connection.fetch(statement)
        finally:
            await connection.close()
        return rows

    @property
    def is_up(self) -> bool:
        """Whether its first process runs."""
        pid = self._pid()
        if not pid:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    async def start(self) -> None:
        """Start it and wait until it takes connections.

        Raises:
            TimeoutError: It does not start; the text is the end of its log.
        """
        # No fsync: the machine does not crash here, only the server does.
        options = f"-h {HOST} -p {self.port} -k {self._folder} -F"
        # Processes of a server that was killed may hold its memory for a moment.
        for _ in range(_START_ATTEMPTS):
            if await self._control("start", "--log", str(self.log), "-o", options) == 0:
                return
            await asyncio.sleep(_ATTEMPT_SECONDS)
        raise TimeoutError(self.log.read_text("utf-8")[-2000:])

    async def stop(self, mode: StopMode = "fast") -> None:
        """Stop it and wait until it is gone; one that does not run stays as it is."""
        if self.is_up:
            async with asyncio.timeout(STOP_SECONDS):
                await self._control("stop", "--mode", mode)

    async def restart(self, mode: StopMode = "fast") -> None:
        """Stop it, and start it on the same port with the same data."""
        await self.stop(mode)
        await self.start()

    def kill(self) -> None:
        """Kill the server's first process; the others go by themselves a moment later."""
        os.kill(self._pid(), signal.SIGKILL)

    def remove(self) -> None:
        """Stop it for good and delete all that it had."""
        if self.is_up:
            command = [
                f"{self._bin}/pg_ctl",
                "--pgdata",
                str(self.data),
                "stop",
                "--mode",
                "immediate",
            ]
            subprocess.run(command, check=False, capture_output=True, cwd="/", **self._account)
        # what a killed server has left may be going just now
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pid(self) -> int:
        """The first process, which may be dead by now; 0 where the server was stopped."""
        try:
            return int((self.data / "postmaster.pid").read_text("utf-8").split()[0])
        except FileNotFoundError:
            return 0

    async def _control(self, verb: str, *options: str) -> int:
        """Have pg_ctl do something and wait for it.

        Returns:
            Its exit code; 0 is success.
        """
        process = await asyncio.create_subprocess_exec(
            f"{self._bin}/pg_ctl",
            "--pgdata",
            str(self.data),
            "--wait",
            verb,
            *options,
            # The server inherits these and lives on, so nobody could wait for the end of a pipe.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._account,
        )
        return await process.wait()


@pytest.fixture(scope="session")
def private_cluster() -> Iterator[PostgresServer]:
    """The session's own server, made once since that takes seconds; it may run or not."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
async def private_server(private_cluster: PostgresServer) -> AsyncIterator[PostgresServer]:
    """The session's own server, running; a test makes a database of its own in it."""
    if not private_cluster.is_up:
        await private_cluster.start()
    yield private_cluster
    await private_cluster.stop("immediate")


def _account_for(folder: Path) -> Mapping[str, Any]:
    """What makes a subprocess run as somebody who may use the folder and is not root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    account = next(known[name] for name in _ACCOUNTS if name in known)
    os.chown(folder, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
