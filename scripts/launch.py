"""Runs a program of this project in the environment that holds the latest AstrBot.

    launch.py demo/run.py [ARGUMENTS]

The environment is prepared first, if need be; a program that needs none runs in the Python at
hand. The program then takes the place of this process, so that an interrupt or a signal reaches it
alone, with the clone as its working directory.
"""

import os
import sys
from typing import Final, NoReturn

from environments import LATEST, ROOT, prepare
from installing import SetupFailed

__all__ = ["main"]

NEEDS_NO_ENVIRONMENT: Final = frozenset({"demo/ask.py"})
"""Of the standard library only: in a fresh clone they answer without any installing."""


def become(*command: str) -> NoReturn:
    """Replace this process by a command that runs in the root of the clone."""
    # Make hands down a variable that was not given as an empty one.
    os.environ["PORT"] = os.environ.get("PORT") or "6185"
    os.environ["DATA"] = os.environ.get("DATA") or str(ROOT / ".demo")
    os.chdir(ROOT)
    os.execv(command[0], command)


def main() -> int:
    """Prepare the environment and become the program; returns only if that failed."""
    program, *arguments = sys.argv[1:]
    if not (ROOT / program).is_file():
        print(f"there is no {program} in this clone", file=sys.stderr)
        return 1
    if program in NEEDS_NO_ENVIRONMENT:
        become(sys.executable, str(ROOT / program), *arguments)
    try:
        python = prepare(LATEST)
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    become(str(python), str(ROOT / program), *arguments)


if __name__ == "__main__":
    sys.exit(main())
