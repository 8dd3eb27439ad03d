"""A pytest plugin that notes what ran, and skips what this machine has no service for.

``run_tests.py`` loads it into each of its pytest processes; ``summary.py`` adds the notes up. It
reads two environment variables: ``TEST_NOTES``, the file to write to, and ``TEST_MISSING``, a JSON
object that maps a marker to the reason why tests with that marker cannot run here.

Where pytest-xdist shares the tests out, its workers load the plugin too. The process they report to
takes the notes: it also learns of a worker that died.
"""

import json
import os
from pathlib import Path
from typing import Final

import pytest

__all__ = ["Notes", "pytest_collection_modifyitems", "pytest_configure"]

SERVICES: Final = ("postgres", "llama", "browser")
"""Markers of tests that need something beside Python."""


def pytest_configure(config: pytest.Config) -> None:
    """Start taking notes."""
    notes = Notes(Path(os.environ["TEST_NOTES"]))
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(WorkerNotes(notes) if is_worker else notes, "test-notes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests whose service is missing."""
    for marker, reason in json.loads(os.environ.get("TEST_MISSING", "{}")).items():
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


class Notes:
    """Notes each outcome at once, one JSON object per line, so that a crash loses none."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase of one test: set-up, call or teardown."""
        if report.failed:
            self._write(test=report.nodeid, outcome="failed")
        elif report.skipped:
            service = next((name for name in SERVICES if name in report.keywords), "")
            self._write(
                test=report.nodeid, outcome="skipped", service=service, reason=reason_of(report)
            )
        elif report.when == "call":
            self._write(test=report.nodeid, outcome="passed")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be read, or that skipped itself as a whole."""
        if report.failed:
            self._write(test=report.nodeid, outcome="failed")
        elif report.skipped:
            self._write(test=report.nodeid, outcome="skipped", service="", reason=reason_of(report))

    def _write(self, **note: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")


class WorkerNotes:
    """Notes what a worker of pytest-xdist keeps to itself: files that skip themselves.

    Each worker reads all files and notes such a file; the summary counts it once.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that skipped itself as a whole."""
        if report.skipped:
            self._notes.pytest_collectreport(report)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped, in the words of its author."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(getattr(report, "wasxfail", "")) or "expected to fail"
