"""Runs the formatter, the linter, the type checker and the check of import directions.

All of them run, also after one has failed, so that one call shows all there is to mend. With
``--fix`` it formats, and mends what the linter can mend, and checks nothing else.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from environments import DEV, ROOT, prepare
from installing import SetupFailed

__all__ = ["main"]

OUTSIDE_THE_PACKAGE: Final = ("scripts", "demo", "bench", "tests")
"""Each is checked alone, since their files may share names."""


def checks() -> Iterator[tuple[str, ...]]:
    """The commands of the check, each a tool of the environment with its arguments."""
    yield ("ruff", "check")
    yield ("ruff", "format", "--check")
    # The package is checked under its own name; pyproject.toml says how.
    yield ("mypy",)
    for folder in OUTSIDE_THE_PACKAGE:
        if any((ROOT / folder).rglob("*.py")):
            yield ("mypy", "--explicit-package-bases", folder)
    yield ("lint-imports",)


def fixes() -> Iterator[tuple[str, ...]]:
    """The commands that mend files."""
    yield ("ruff", "check", "--fix", "--exit-zero")
    yield ("ruff", "format")


def succeeds(command: tuple[str, ...]) -> bool:
    """Run one tool in the root of the clone."""
    # The folder of a script is the first place where Python looks for what it imports.
    env = os.environ | {"MYPYPATH": str(ROOT / command[-1])} if command[0] == "mypy" else None
    print(f"\n== {' '.join(command)} ==", flush=True)
    tool = DEV.folder / "bin" / command[0]
    return subprocess.run([tool, *command[1:]], cwd=ROOT, env=env).returncode == 0


def main() -> int:
    """Run the checks, or the fixes, and return the exit code."""
    try:
        prepare(DEV)
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    commands = fixes() if "--fix" in sys.argv[1:] else checks()
    failed = [" ".join(command) for command in commands if not succeeds(command)]
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall checks passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
