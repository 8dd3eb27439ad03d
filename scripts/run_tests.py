"""Runs every kind of test, each in its environment, and sums up what ran and what did not.

The kinds are the folders under ``tests``. Host tests run with the newest AstrBot, and those of what
differs between its versions with the oldest one as well. Each part is a pytest
process of its own, since one process can load the plugin under one name only and can boot one
AstrBot only. Without arguments all parts run; ``run_tests.py unit contract`` runs those kinds.
With ``--strict``, as in CI, the whole fails if any test that exists did not run.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from environments import DEV, LATEST, OLDEST, ROOT, Environment, prepare
from installing import SetupFailed, interrupt
from services import Services, find_services
from summary import Summary

__all__ = ["main"]

PART_SECONDS: Final = 1500
"""A part that takes longer hangs, and is stopped."""
PLUGINS: Final = ("asyncio", "hypothesispytest", "xdist")
"""Pytest's plugins for the unit tests, named one by one: of a plugin that pytest finds by itself it
rewrites every module, and Hypothesis has hundreds."""
SHARED_OUT: Final = ("--numprocesses=auto", "--maxprocesses=4", "--dist=worksteal")
"""One process per processor, to a limit, since each process reads all test files."""
OTHER_PROCESSES: Final = (
    "test_harness_process.py",
    "test_plugin_restart.py",
    "test_scenario_restart.py",
    "test_scenario_restart_in_the_middle.py",
    "test_store_two_bots.py",
)
"""Host tests that start AstrBot as processes of its own: a part by themselves, the newest one."""
WITH_OLDEST: Final = (
    "test_dashboard_actions.py",
    "test_dashboard_webui.py",
    "test_delivery_ends.py",
    "test_images.py",
    "test_plugin_additions.py",
    "test_plugin_config.py",
    "test_plugin_lifecycle.py",
    "test_plugin_runs.py",
    "test_plugin_switch.py",
    "test_plugin_toolset.py",
    "test_plugin_turns.py",
    "test_prefix_cache.py",
    "test_scenario_group.py",
    "test_scenario_mixed.py",
    "test_static_core.py",
    "test_stopping.py",
    "test_task_watched.py",
    "test_wake_ups.py",
)
"""Host tests of what AstrBot's versions differ in, or may: how it loads the plugin, builds a turn,
hooks, stops, sends and serves pages. They run with the oldest one as well; with ``--thorough`` all
do. The contract of its runner (``tests/contract/adapter``) is held with both in any case."""
SOME_FAILED: Final = 1
NO_TESTS_COLLECTED: Final = 5
"""Pytest's exit codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One pytest process."""

    kind: str
    """The folder under ``tests``."""
    within: str = ""
    """The folder in that one; "" is all of it."""
    files: tuple[str, ...] = ()
    """Those in the folder that are meant; none: all."""
    environment: Environment
    options: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    """The plugins to load; none: all that are installed."""
    what: str = ""
    """What the output says besides of a part of a kind."""
    stage: int
    """Parts of one stage may run at the same time; a stage begins when the one before has ended."""
    lane: str
    """Parts of one lane run one after another."""

    @property
    def title(self) -> str:
        """How the output calls it."""
        return " ".join(filter(None, (self.kind, self.what, self.environment.title)))

    @property
    def notes(self) -> Path:
        """The file in which `count_tests` takes down what became of each test."""
        name = "-".join(filter(None, (self.kind, self.within, self.what, self.environment.group)))
        return ROOT / ".cache" / "tests" / f"{name.replace(' ', '-')}.jsonl"

    @property
    def command(self) -> list[str]:
        """What starts it."""
        plugins = [f"-p{plugin}" for plugin in ("count_tests", *self.plugins)]
        options = (*plugins, "--continue-on-collection-errors", *self.options)
        folder = "/".join(filter(None, ("tests", self.kind, self.within)))
        places = [f"{folder}/{each}" for each in self.files] or [folder]
        return [str(self.environment.python), "-m", "pytest", *options, *places]


LENIENT: Final = ("-W", "default")
"""With AstrBot other people's code runs, and what it warns of is not ours to mend."""


def parts(*, thorough: bool = False) -> Iterator[Part]:
    """All parts: first the fast one, then two lanes that take about equally long.

    Args:
        thorough: Whether all host tests run with the oldest AstrBot, too.
    """
    yield Part(
        kind="unit", environment=DEV, options=SHARED_OUT, plugins=PLUGINS, stage=1, lane="core"
    )
    # Beside the contract tests: of two AstrBots and a browser one would be starved.
    yield Part(kind="browser", environment=LATEST, options=LENIENT, stage=2, lane="one")
    yield Part(kind="contract", environment=DEV, options=("-m", "not host"), stage=2, lane="two")
    for environment, lane in ((LATEST, "one"), (OLDEST, "two")):
        # not all contract tests: the others need packages that these environments lack
        yield Part(
            kind="contract",
            within="adapter",
            environment=environment,
            options=LENIENT,
            stage=2,
            lane=lane,
        )
    left_out = tuple(f"--ignore=tests/host/{each}" for each in OTHER_PROCESSES)
    yield Part(kind="host", environment=LATEST, options=(*LENIENT, *left_out), stage=2, lane="one")
    yield Part(
        kind="host",
        environment=OLDEST,
        files=() if thorough else WITH_OLDEST,
        options=(*LENIENT, *left_out),
        stage=2,
        lane="two",
    )
    yield Part(
        kind="host",
        what="restarts",
        environment=LATEST,
        files=OTHER_PROCESSES,
        options=LENIENT,
        stage=2,
        lane="two",
    )
    yield Part(kind="e2e", environment=LATEST, options=LENIENT, stage=2, lane="two")


def stages(chosen: Sequence[Part]) -> Iterator[list[list[Part]]]:
    """Shares the parts out: in each stage, those of one lane one after another.

    Two lanes run side by side: each part has folders, ports and tables of its own.
    """
    for stage in sorted({part.stage for part in chosen}):
        lanes: dict[str, list[Part]] = {}
        for part in chosen:
            if part.stage == stage:
                lanes.setdefault(part.lane, []).append(part)
        yield list(lanes.values())


class Runner:
    """Runs parts and adds up what they did; two may run at the same time."""

    def __init__(self, services: Services) -> None:
        self.summary = Summary()
        self._services = services
        self._adding = threading.Lock()
        self._interrupted = threading.Event()

    def run_all(self, chosen: Sequence[Part]) -> None:
        """Run parts, stage after stage, and what each stage has side by side."""
        for lanes in stages([part for part in chosen if is_ready(part, self.summary)]):
            with ThreadPoolExecutor(max_workers=len(lanes)) as threads:
                aside = len(lanes) > 1
                try:
                    for done in [threads.submit(self._run_lane, each, aside) for each in lanes]:
                        done.result()
                except BaseException:
                    self._interrupted.set()
                    raise

    def _run_lane(self, lane: Sequence[Part], aside: bool) -> None:
        for part in lane:
            self.run(part, aside=aside)

    def run(self, part: Part, *, aside: bool) -> None:
        """Run one part and add what it did.

        Args:
            part: What to run.
            aside: Others run at the same time, so its output is kept and shown at its end.
        """
        if not aside:
            print(f"\n== {part.title} ==", flush=True)
        file = part.notes
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        ours = {
            "PYTHONPATH": str(ROOT / "scripts"),
            "TEST_NOTES": str(file),
            "TEST_MISSING": json.dumps(self._services.missing),
        }
        if part.plugins:
            # As a variable and not as an option: the workers of pytest-xdist inherit it.
            ours["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        code, output = self._call(part.command, {**os.environ, **self._services.env, **ours}, aside)
        with self._adding:
            if aside:
                print(f"\n== {part.title} ==\n{output}", flush=True)
            self._add(part, code, file.read_text("utf-8").splitlines())

    def _add(self, part: Part, code: int | None, notes: Sequence[str]) -> None:
        any_failed = self.summary.add(json.loads(line) for line in notes)
        if code == NO_TESTS_COLLECTED:
            self.summary.lose(part.title, "no test was found")
        elif code is None:
            self.summary.lose(part.title, f"stopped after {PART_SECONDS} s")
        elif code not in {0, SOME_FAILED} or (code == SOME_FAILED and not any_failed):
            self.summary.lose(part.title, f"broke off, pytest ended with {code}")

    def _call(
        self, command: Sequence[str], env: dict[str, str], aside: bool
    ) -> tuple[int | None, str]:
        """Run a command to its end.

        Returns:
            Its exit code, or None if it had to be stopped; and the output of one that runs aside.
        """
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as kept:
            with subprocess.Popen(
                command,
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=kept if aside else None,
                stderr=subprocess.STDOUT if aside else None,
            ) as process:
                try:
                    code = self._waited(process)
                finally:
                    stop(process)
            kept.seek(0)
            return code, kept.read()

    def _waited(self, process: subprocess.Popen[bytes]) -> int | None:
        """The exit code of a process; None if it takes too long, or all is being interrupted."""
        end = time.monotonic() + PART_SECONDS
        while time.monotonic() < end and not self._interrupted.is_set():
            try:
                return process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                continue
        return None


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process if it still runs; pytest closes what its tests started on an interrupt."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


def is_ready(part: Part, summary: Summary) -> bool:
    """Whether the environment of a part is there, or could be made."""
    try:
        prepare(part.environment)
    except SetupFailed as error:
        print(error, file=sys.stderr, flush=True)
        summary.lose(part.title, "its environment could not be made")
        return False
    return True


def main() -> int:
    """Run the tests that the command line names, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", help="folders under tests; none: all")
    parser.add_argument("--strict", action="store_true", help="fail if a test did not run")
    parser.add_argument(
        "--thorough", action="store_true", help="all host tests with the oldest AstrBot, too"
    )
    arguments = parser.parse_args()
    all_parts = parts(thorough=arguments.thorough)
    chosen = [part for part in all_parts if not arguments.kinds or part.kind in arguments.kinds]
    if not chosen:
        parser.error(f"there are no tests of the kind {', '.join(arguments.kinds)}")
    signal.signal(signal.SIGTERM, interrupt)
    # A shell starts its background jobs deaf to interrupts; pytest would inherit that.
    signal.signal(signal.SIGINT, interrupt)
    try:
        runner = Runner(find_services(prepare(DEV)))
        runner.run_all(chosen)
    except SetupFailed as error:
        print(f"{error}\n\n0 passed, 1 failed, 0 skipped\nnot run: everything", flush=True)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    summary = runner.summary
    print("", *summary.lines(), sep="\n", flush=True)
    return int(summary.outcomes["failed"] > 0 or (arguments.strict and bool(summary.not_run())))


if __name__ == "__main__":
    sys.exit(main())
