"""The table of faults, reports and stories names tests that there are, and leaves none out."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "tests" / "COVERAGE.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TABLE)))
ROWS = [line.split(" | ") for line in TABLE.splitlines() if line.startswith("| ")]


@cache
def functions_of(file: str) -> frozenset[str]:
    """The names of a file's functions."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions)


def test_every_test_that_the_table_names_exists() -> None:
    missing = [f"{file}::{test}" for file, test in NAMED if test not in functions_of(file)]

    assert len(NAMED) > 100
    assert missing == []


def test_every_fault_has_a_row_with_a_test_or_says_that_there_is_none_yet() -> None:
    numbers = [int(row[0].removeprefix("| ")) for row in ROWS if row[0][2:].isdigit()]
    bare = [row for row in ROWS if "::test_" not in row[-1] and "not yet: " not in row[-1]]

    assert numbers == list(range(1, 41))
    assert [row[0] for row in bare] == ["| story", "| no.", "| report"]
