"""Tortures two processes that share a store: the bot, which owns the chats, and a worker.

Each is killed without warning, or frozen for so long that it is taken for dead and then goes on: a
zombie, which must not write any more what is another's.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from environments import ROOT
from installing import SetupFailed

__all__ = ["PairTorture", "start_part"]

HOMES: Final = ("bot", "worker")
FROZEN: Final = 0.3
"""The share of blows that freeze."""
FROZEN_SECONDS: Final = (1.8, 2.8)
"""Longer than it takes to be held for dead."""
QUIET_SECONDS: Final = 0.8
"""The longest time between two blows."""
END_SECONDS: Final = 240.0


def start_part(python: Path, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a part of a torture; one that lives says a line once it is at work."""
    return subprocess.Popen(
        [python, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if module == "torture.life" else None,
    )


@dataclass(slots=True, kw_only=True)
class PairTorture:
    """Two processes, their store and their killer."""

    python: Path
    folder: Path
    address: str
    """The URL of their store."""
    seed: str
    kills: int
    """How many blows there are."""
    _lives: int = field(default=0, init=False)
    _cores: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

    def run(self) -> int:
        """Let all blows fall, let both end, and check; the exit code."""
        chance = random.Random(self.seed)
        with self._both():
            for blow in range(self.kills):
                time.sleep(chance.uniform(0, QUIET_SECONDS))
                home = chance.choice(HOMES)
                if self._cores[home].poll() is not None:
                    print(f"the {home} came to its end before blow {blow}", flush=True)
                    return 1
                if chance.random() < FROZEN:
                    self._freeze(home, chance.uniform(*FROZEN_SECONDS))
                else:
                    self._kill(home)
            code = self._wait_for_ends()
        check = start_part(self.python, "torture.check", str(self.folder), self.address, "frozen")
        return check.wait() or code

    @contextmanager
    def _both(self) -> Iterator[None]:
        try:
            for home in HOMES:
                self._begin(home)
            yield
        finally:
            for core in self._cores.values():
                core.kill()
                core.communicate()

    def _begin(self, home: str) -> None:
        life, self._lives = self._lives, self._lives + 1
        arguments = (str(self.folder), self.address, str(life), self.seed, home)
        core = self._cores[home] = start_part(self.python, "torture.life", *arguments)
        assert core.stdout is not None
        if not core.stdout.readline():
            raise SetupFailed(f"the {home} did not start; it ended with {core.wait(5)}")

    def _kill(self, home: str) -> None:
        core = self._cores[home]
        core.kill()
        core.communicate()
        self._begin(home)

    def _freeze(self, home: str, seconds: float) -> None:
        core = self._cores[home]
        core.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        core.send_signal(signal.SIGCONT)

    def _wait_for_ends(self) -> int:
        end = time.monotonic() + END_SECONDS
        for home, core in self._cores.items():
            try:
                if code := core.wait(max(0.1, end - time.monotonic())):
                    print(f"the {home} ended with {code}", flush=True)
                    return 1
            except subprocess.TimeoutExpired:
                print(f"the {home} did not come to its end", flush=True)
                return 1
        return 0
