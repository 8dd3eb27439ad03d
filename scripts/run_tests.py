"""Runs every kind of test, each in its environment, and sums up what ran and what did not.

The kinds are the folders under ``tests``. Host tests run once per AstrBot. Each part is a pytest
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from environments import DEV, LATEST, OLDEST, ROOT, Environment, prepare
from installing import SetupFailed, interrupt
from services import Services, find_services
from summary import Summary

__all__ = ["main"]

PART_SECONDS: Final = 600
"""A part that takes longer hangs, and is stopped."""
PLUGINS: Final = ("asyncio", "hypothesispytest", "xdist")
"""Pytest's plugins for the unit tests, named one by one: of a plugin that pytest finds by itself it
rewrites every module, and Hypothesis has hundreds."""
SHARED_OUT: Final = ("--numprocesses=auto", "--maxprocesses=4", "--dist=worksteal")
"""One process per processor, to a limit, since each process reads all test files."""
SOME_FAILED: Final = 1
NO_TESTS_COLLECTED: Final = 5
"""Pytest's exit codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One pytest process."""

    kind: str
    """The folder under ``tests``."""
    environment: Environment
    options: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    """The plugins to load; none: all that are installed."""

    @property
    def title(self) -> str:
        """How the output calls it."""
        return f"{self.kind} {self.environment.title}"

    @property
    def command(self) -> list[str]:
        """What starts it."""
        plugins = [f"-p{plugin}" for plugin in ("count_tests", *self.plugins)]
        options = (*plugins, "--continue-on-collection-errors", *self.options)
        return [str(self.environment.python), "-m", "pytest", *options, f"tests/{self.kind}"]


def parts() -> Iterator[Part]:
    """All parts, the fast ones first."""
    yield Part(kind="unit", environment=DEV, options=SHARED_OUT, plugins=PLUGINS)
    yield Part(kind="contract", environment=DEV, options=("-m", "not host"))
    # Other people's code runs in the rest, and what it warns of is not ours to mend.
    lenient = ("-W", "default")
    for environment in (OLDEST, LATEST):
        if mentions("contract", "mark.host"):
            options = ("-m", "host", *lenient)
            yield Part(kind="contract", environment=environment, options=options)
        yield Part(kind="host", environment=environment, options=lenient)
    yield Part(kind="e2e", environment=LATEST, options=lenient)


def mentions(kind: str, text: str) -> bool:
    """Whether a kind of test exists that holds a text."""
    return any(text in file.read_text("utf-8") for file in (ROOT / "tests" / kind).rglob("*.py"))


def run(part: Part, services: Services, summary: Summary) -> None:
    """Run one part and add what it did."""
    print(f"\n== {part.title} ==", flush=True)
    file = ROOT / ".cache" / "tests" / f"{part.kind}-{part.environment.group}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")
    ours = {
        "PYTHONPATH": str(ROOT / "scripts"),
        "TEST_NOTES": str(file),
        "TEST_MISSING": json.dumps(services.missing),
    }
    if part.plugins:
        # As a variable and not as an option: the workers of pytest-xdist inherit it.
        ours["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    code = call(part.command, {**os.environ, **services.env, **ours})
    any_failed = summary.add(json.loads(line) for line in file.read_text("utf-8").splitlines())
    if code == NO_TESTS_COLLECTED:
        summary.lose(part.title, "no test was found")
    elif code is None:
        summary.lose(part.title, f"stopped after {PART_SECONDS} s")
    elif code not in {0, SOME_FAILED} or (code == SOME_FAILED and not any_failed):
        summary.lose(part.title, f"broke off, pytest ended with {code}")


def call(command: Sequence[str], env: dict[str, str]) -> int | None:
    """Run a command to its end.

    Returns:
        Its exit code, or None if it had to be stopped.
    """
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL) as process:
        try:
            return process.wait(timeout=PART_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process if it still runs; pytest closes what its tests started on an interrupt."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


def run_all(chosen: Sequence[Part]) -> Summary:
    """Run some parts, one after another."""
    summary = Summary()
    services = find_services(prepare(DEV))
    for part in chosen:
        try:
            prepare(part.environment)
        except SetupFailed as error:
            print(error, file=sys.stderr, flush=True)
            summary.lose(part.title, "its environment could not be made")
        else:
            run(part, services, summary)
    return summary


def main() -> int:
    """Run the tests that the command line names, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", help="folders under tests; none: all")
    parser.add_argument("--strict", action="store_true", help="fail if a test did not run")
    arguments = parser.parse_args()
    chosen = [part for part in parts() if not arguments.kinds or part.kind in arguments.kinds]
    if not chosen:
        parser.error(f"there are no tests of the kind {', '.join(arguments.kinds)}")
    signal.signal(signal.SIGTERM, interrupt)
    # A shell starts its background jobs deaf to interrupts; pytest would inherit that.
    signal.signal(signal.SIGINT, interrupt)
    try:
        summary = run_all(chosen)
    except SetupFailed as error:
        print(f"{error}\n\n0 passed, 1 failed, 0 skipped\nnot run: everything", flush=True)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print("", *summary.lines(), sep="\n", flush=True)
    return int(summary.outcomes["failed"] > 0 or (arguments.strict and bool(summary.not_run())))


if __name__ == "__main__":
    sys.exit(main())
