"""Kills a core again and again while it works, and checks that nothing was lost or done twice.

A core on a store of its own works at 12 runs of 60 turns whose tools change something. It is killed
without warning at random moments and started again, until all runs have ended; then the store, what
the tools did, what the models were told and what was delivered are held against each other. With
``TEST_DATABASE_URL`` it is done on PostgreSQL, too, and there once more with two processes that
share the work (``torture_pair.py``). The core itself is in ``tests/torture``.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from environments import DEV, prepare
from installing import SetupFailed
from torture_pair import PairTorture, start_part

__all__ = ["main"]

START_SECONDS: Final = 30.0
LAST_LIFE_SECONDS: Final = 90.0
LIFE_SECONDS: Final = 1.4
"""How long a life lasts at most, once the core is at work."""
BEFORE_WORK: Final = 0.15
"""The share of lives that end while the core is still starting."""
ALONE_ON_FILE: Final = "SQLite"
ALONE: Final = "PostgreSQL"
PAIR: Final = "PostgreSQL, two processes"
SCHEMA: Final = """
import asyncio, sys
import asyncpg

async def run():
    connection = await asyncpg.connect(sys.argv[1].replace("+asyncpg", "", 1))
    await connection.execute(sys.argv[2])
    await connection.close()

asyncio.run(run())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Torture:
    """One core, its store and its killer."""

    python: Path
    folder: Path
    address: str
    """The file or the URL of its store."""
    seed: str
    kills: int

    def run(self) -> int:
        """Kill it so often, let it end, and check; the exit code."""
        chance = random.Random(self.seed)
        for life in range(self.kills):
            with self._life(life) as core:
                # the first life is to ask for the runs
                if not life or chance.random() > BEFORE_WORK:
                    _wait_for_work(core)
                time.sleep(chance.uniform(0, LIFE_SECONDS))
                if core.poll() is not None:
                    print(f"life {life} ended by itself, with {core.returncode}", flush=True)
                    return 1
        with self._life(self.kills) as core:
            try:
                code = core.wait(LAST_LIFE_SECONDS)
            except subprocess.TimeoutExpired:
                print("the last life did not come to its end", flush=True)
                code = 1
        # what is there says what is wrong, also when the last life did not end well
        return self._start("torture.check", str(self.folder), self.address).wait() or code

    @contextmanager
    def _life(self, number: int) -> Iterator[subprocess.Popen[bytes]]:
        core = self._start("torture.life", str(self.folder), self.address, str(number), self.seed)
        try:
            yield core
        finally:
            core.kill()
            core.communicate()

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        return start_part(self.python, module, *arguments)


def _wait_for_work(core: subprocess.Popen[bytes]) -> None:
    assert core.stdout is not None
    if not core.stdout.readline():
        raise SetupFailed(f"the core did not start; it ended with {core.wait(START_SECONDS)}")


@contextmanager
def stores(python: Path, folder: Path) -> Iterator[dict[str, str]]:
    """The addresses of empty stores by their kind, gone afterwards."""
    found = {ALONE_ON_FILE: str(folder / "store.db")}
    server = os.environ.get("TEST_DATABASE_URL", "")
    if not server:
        yield found
        return
    kinds = {ALONE: f"torture_{os.getpid()}", PAIR: f"torture_pair_{os.getpid()}"}
    for schema in kinds.values():
        _on_server(python, server, f"CREATE SCHEMA {schema}")
    try:
        mark = "&" if "?" in server else "?"
        yield found | {
            kind: f"{server}{mark}search_path={schema}" for kind, schema in kinds.items()
        }
    finally:
        for schema in kinds.values():
            _on_server(python, server, f"DROP SCHEMA {schema} CASCADE")


def _on_server(python: Path, server: str, statement: str) -> None:
    subprocess.run([python, "-c", SCHEMA, server, statement], check=True)


def torture_all(python: Path, seed: str, kills: int, *, only: str) -> int:
    """Do it on each kind of store, or on one only; how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="torture-") as scratch:
        folder = Path(scratch)
        with stores(python, folder) as addresses:
            if only and only not in addresses:
                raise SetupFailed(f"there is no {only!r} here, but {', '.join(addresses)}")
            for kind in [only] if only else list(addresses):
                address = addresses[kind]
                own = folder / kind
                own.mkdir()
                began = time.monotonic()
                made = PairTorture if kind == PAIR else Torture
                torture = made(python=python, folder=own, address=address, seed=seed, kills=kills)
                code = torture.run()
                failed += bool(code)
                verdict = "FAILED" if code else "all is well"
                seconds = time.monotonic() - began
                print(f"{kind}: {verdict} after {kills} blows, {seconds:.0f} s", flush=True)
    return failed


def main() -> int:
    """Torture a core and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="", help="what the moments of the kills are made of")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", default="", help="a kind of store, such as SQLite; none: all")
    arguments = parser.parse_args()
    seed = arguments.seed or str(random.randrange(10**9))
    print(f"seed {seed}", flush=True)
    try:
        failed = torture_all(prepare(DEV), seed, arguments.kills, only=arguments.only)
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    if failed:
        print(f"to do the same again: make torture SEED={seed}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
