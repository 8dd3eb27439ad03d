"""Two real AstrBots share the work: what `make workers` starts, with one of them frozen and killed.

One start serves all tests, so they stand in the order in which they run.
"""

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support import postgres_server
from support.demo_process import ROOT, Demo, ask, environment, started, tools_and_answer
from support.gated_model import GatedModel, gated_model

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, postgres_server.needs_programs]

QUESTION = "How do I protect a sub-agent, and what happens when a run times out?"
PARTS = ("protect", "run_timeout")
QUOTE = re.compile(r"^> .+\n\nsource: .+$", re.MULTILINE)


@pytest.fixture(scope="module")
def model() -> Iterator[GatedModel]:
    with gated_model() as model:
        yield model


@pytest.fixture(scope="module")
def demo(model: GatedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    server = postgres_server.PostgresServer()
    try:
        asyncio.run(server.start())
        with started(
            tmp_path_factory.mktemp("workers") / "data",
            program="demo/workers.py",
            OPENAI_BASE_URL=model.base_url,
            OPENAI_MODEL="gated",
            DATABASE_URL=server.url(),
        ) as demo:
            yield demo
    finally:
        server.remove()


class Asked:
    """A question to one of the two that is being answered."""

    def __init__(self, demo: Demo, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "demo/ask.py", QUESTION],
            cwd=ROOT,
            env=environment(demo.data / name),
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> str:
        """Wait for the answer."""
        output, _ = self._process.communicate(timeout=150)
        _, answer = tools_and_answer(output)
        return answer


def test_the_sub_agents_of_one_chat_are_executed_by_both_processes(
    demo: Demo, model: GatedModel
) -> None:
    model.shut()
    asked = Asked(demo, "one")
    where = both(demo, "running")
    model.open()

    assert sorted(where.values()) == ["one", "two"]
    assert len(QUOTE.findall(asked.answer())) >= 2
    assert both(demo, "completed") == where


def test_one_that_was_taken_for_dead_and_wakes_up_disturbs_nobody(
    demo: Demo, model: GatedModel
) -> None:
    model.shut()
    asked = Asked(demo, "one")
    where = both(demo, "running")
    (part,) = (part for part, name in where.items() if name == "two")
    two = process_of(demo, "two")
    two.suspend()
    model.open()
    taken_over = demo.until(f"  {part} ")
    two.resume()

    assert taken_over.endswith("in one")
    answer = asked.answer()
    assert len(QUOTE.findall(answer)) >= 2
    assert answer.count("**How do I protect a sub-agent**") == 1
    # It is as good as before.
    _, own = tools_and_answer(ask(demo.data / "two", QUESTION).stdout)
    assert len(QUOTE.findall(own)) >= 2
    while told(demo).count(": completed in ") < 3 * len(PARTS):
        demo.until("  ")


def test_what_a_killed_one_had_in_hand_is_finished_by_the_other(
    demo: Demo, model: GatedModel
) -> None:
    model.shut()
    asked = Asked(demo, "one")
    where = both(demo, "running")
    (part,) = (part for part, name in where.items() if name == "two")
    process_of(demo, "two").kill()
    demo.until("two ended by itself")
    model.open()

    assert demo.until(f"  {part} ").endswith("in one")
    answer = asked.answer()
    assert len(QUOTE.findall(answer)) >= 2
    assert answer.count("**How do I protect a sub-agent**") == 1


def test_it_ends_in_order_and_leaves_its_data_in_its_own_folder(demo: Demo) -> None:
    assert demo.end(signal.SIGINT) == 0
    assert demo.lines[-1] == "Stopped."
    assert sorted(each.name for each in demo.data.iterdir()) == ["one", "two"]


def test_without_a_server_it_says_what_is_missing(tmp_path: Path) -> None:
    nobody = "postgresql://postgres@127.0.0.1:1/postgres"
    demo = Demo(tmp_path / "data", program="demo/workers.py", DATABASE_URL=nobody)

    assert demo.end() == 2
    assert "the PostgreSQL server in DATABASE_URL cannot be used" in demo.lines[-1]
    assert list(tmp_path.iterdir()) == []


def both(demo: Demo, state: str) -> dict[str, str]:
    """Wait until both sub-agents are in a state; which process has which."""
    where: dict[str, str] = {}
    while len(where) < len(PARTS):
        line = demo.until("  ")
        for part in PARTS:
            if found := re.match(rf"  {part} \(\w+\): {state} in (\w+)$", line):
                where[part] = found[1]
    return where


def process_of(demo: Demo, name: str) -> psutil.Process:
    (pid,) = re.findall(rf"^{name}: process (\d+);", told(demo), re.MULTILINE)
    return psutil.Process(int(pid))


def told(demo: Demo) -> str:
    return "\n".join(demo.lines)
