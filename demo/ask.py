"""Sends one message to a running demo and prints what comes back; `make ask` calls it.

It prints `session <id>`, then each tool call as `tool <name> <arguments as JSON>` and the text
behind a line `answer`, as they come. Text between tool calls has a line `answer` of its own, so
the answer is what stands behind the last one.

Environment: DATA (the data folder of the demo), or URL, USER and PASSWORD of any AstrBot; SESSION
(a chat to go on with); TIMEOUT (300 seconds in all).
"""

import os
import sys
from pathlib import Path

from launcher.asking import ReaderGone, ask, read_question
from launcher.problem import Problem

CLONE = Path(__file__).resolve().parent.parent


def main() -> int:
    """Ask and return the exit code: 0 when an answer came, or its reader wanted no more."""
    try:
        ask(read_question(sys.argv[1:], os.environ, CLONE))
    except Problem as error:
        print(f"make ask: {error}", file=sys.stderr, flush=True)
        return 1
    except ReaderGone:
        # What is still to be written at the end of the program must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
