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
import w3  # noqa: E402 - path set above

OUT = HERE / "out" / "latest.jsonl"
WORKLOADS = ("W1", "W3")
PLUGIN = MappingProxyType(
    {
        # a growing memory would soon be all that is measured
        "history_enabled": False,
        # else AstrBot's own sub-agent would be ours
        "manage_core_subagents": False,
    }
)
"""How this plugin is configured."""


@asynccontextmanager
async def model_server(delay: float) -> AsyncIterator[str]:
    """Run the model in a process of its own, so that its work is not measured."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "model.py"),
        str(delay),
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


async def measure(wanted: Sequence[str], delay: float, times: int) -> list[report.Figure]:
    """Run the wanted workloads."""
    found: list[report.Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        if "W3" in wanted:
            # before AstrBot is there: it needs none
            found += await w3.run(folder, times=times)
        if "W1" in wanted:
            found += await _with_astrbot(folder, delay, times)
    return sorted(found, key=lambda figure: figure.workload)


async def _with_astrbot(folder: Path, delay: float, times: int) -> list[report.Figure]:
    async with model_server(delay) as url:
        bot = await astrbot_bench.start(folder / "root", url, dict(PLUGIN))
        try:
            return await w1.run(bot, url, folder, delay=delay, times=times)
        finally:
            await bot.stop()


def main() -> None:
    """Parse the command line, measure, and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds of each model answer")
    parser.add_argument("--times", type=int, default=30, help="repetitions of each subject")
    parser.add_argument(
        "workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD", help=", ".join(WORKLOADS)
    )
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(WORKLOADS):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    all_figures = asyncio.run(measure(options.workloads, options.delay, options.times))
    report.write(all_figures, OUT)
    print(report.table(all_figures))
    print(f"written to {os.path.relpath(OUT)}")


if __name__ == "__main__":
    main()
