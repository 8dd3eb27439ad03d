"""A process that works for a store, for tests that kill it or stop its clock.

`python -m support.worker_process URL HOME` says `began RUN` and `ended RUN` on its output, and lets
a run end when its id comes in.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP

from .workforces import Crew

LIMIT_SECONDS = 30.0


@dataclass(slots=True)
class WorkerProcess:
    """One such process, from outside."""

    process: asyncio.subprocess.Process

    @classmethod
    async def begun(cls, url: str, home: str) -> "WorkerProcess":
        """Start one, and wait until it works."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "support.worker_process", url, home),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[1],
        )
        self = cls(process)
        assert await self.says() == "works"
        return self

    async def says(self) -> str:
        """The next thing it says; "" is its end."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT_SECONDS):
            return (await self.process.stdout.readline()).decode().strip()

    def finish(self, run_id: str) -> None:
        """Let a run end, now or when it has begun."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{run_id}\n".encode())

    def freeze(self) -> None:
        """Stop its clock: to all others it is as good as dead."""
        self.process.send_signal(SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.process.send_signal(SIGCONT)

    async def kill(self) -> None:
        """End it without a word."""
        if self.process.returncode is None:
            self.process.send_signal(SIGKILL)
        await self.process.wait()


def say(what: str) -> None:
    """Tell the test that reads our output."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


async def work(url: str, home: str) -> None:
    """What happens inside."""
    async with AsyncExitStack() as stack:
        worker = await (await Crew(url, stack).worker(home)).works()
        say("works")
        lines = asyncio.Queue[str]()
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline().strip()))
        telling = (
            asyncio.create_task(_tell("began", worker.began)),
            asyncio.create_task(_tell("ended", worker.ended)),
        )
        while line := await lines.get():
            worker.finish(line)
        for task in telling:
            task.cancel()


async def _tell(word: str, runs: "asyncio.Queue[str]") -> None:
    while True:
        say(f"{word} {await runs.get()}")


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
