"""`make bench`: measures this plugin beside AstrBot's own ways, in one process.

Writes `bench/out/latest.jsonl` and prints a table. Nothing here is a test: figures are compared
as ratios within one run.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

HERE = Path(__file__).parent
# The harness of the host tests and the stand-in's server are used from their places.
sys.path[:0] = [str(HERE), str(HERE.parent / "tests"), str(HERE.parent / "demo")]

import astrbot_bench  # noqa: E402 - path set above
import report  # noqa: E402 - path set above
import w1  # noqa: E402 - path set above
import w2  # noqa: E402 - path set above
import w3  # noqa: E402 - path set above
import w4  # noqa: E402 - path set above
import w5  # noqa: E402 - path set above
from model import Delays  # noqa: E402 - path set above

OUT = HERE / "out" / "latest.jsonl"
WORKLOADS = ("W1", "W2", "W3", "W4", "W5")
PLUGIN = MappingProxyType(
    {
        # a growing memory would soon be all that is measured
        "history_enabled": False,
        # else AstrBot's own sub-agent would be ours
        "manage_core_subagents": False,
        **w2.CAPS,
    }
)
"""How this plugin is configured."""
_FEWEST_ROUNDS = 3
_PER_ROUND = 6
"""A round of W2, W4 or W5 counts for so many repetitions of W1: each sample has many tasks."""


@asynccontextmanager
async def model_server(delays: Delays) -> AsyncIterator[str]:
    """Run the model in a process of its own, so that its work is not measured."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "model.py"),
        str(delays.seconds),
        str(delays.task_seconds),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


async def measure(wanted: Sequence[str], delays: Delays, times: int) -> list[report.Figure]:
    """Run the wanted workloads."""
    found: list[report.Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        if "W3" in wanted:
            # before AstrBot is there: it needs none
            found += await w3.run(folder, times=times)
        if "W4" in wanted:
            found += await w4.run(folder, times=_rounds(times))
        if {"W1", "W2", "W5"} & set(wanted):
            found += await _with_astrbot(wanted, folder, delays, times)
    return sorted(found, key=lambda figure: figure.workload)


async def _with_astrbot(
    wanted: Sequence[str], folder: Path, delays: Delays, times: int
) -> list[report.Figure]:
    found: list[report.Figure] = []
    async with model_server(delays) as url:
        bot = await astrbot_bench.start(folder / "root", url, dict(PLUGIN))
        try:
            if "W1" in wanted:
                found += await w1.run(bot, url, folder, delay=delays.seconds, times=times)
            if "W2" in wanted:
                found += await w2.run(bot, url, delay=delays.task_seconds, times=_rounds(times))
            if "W5" in wanted:
                found += await w5.run(bot, times=_rounds(times))
        finally:
            await bot.stop()
    return found


def _rounds(times: int) -> int:
    return max(_FEWEST_ROUNDS, times // _PER_ROUND)


def main() -> None:
    """Parse the command line, measure, and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds of each model answer")
    parser.add_argument(
        "--task-delay", type=float, default=0.05, help="the same in the tasks of W2 and W5"
    )
    parser.add_argument("--times", type=int, default=30, help="repetitions of each subject")
    parser.add_argument(
        "workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS)
    )
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(WORKLOADS):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    delays = Delays(seconds=options.delay, task_seconds=options.task_delay)
    all_figures = asyncio.run(measure(options.workloads, delays, options.times))
    report.write(all_figures, OUT)
    print(report.table(all_figures))
    print(report.verdicts(all_figures))
    print(f"written to {os.path.relpath(OUT)}")


if __name__ == "__main__":
    main()
