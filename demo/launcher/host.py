"""The AstrBot process itself: AstrBot's own command line, which ends when its starter is gone.

Started as a script by `process`, never imported.
"""

import os
import runpy
import signal
import sys
import threading
import time

_GRACE_SECONDS = 10.0
_STANDARD_INPUT = 0


def main() -> None:
    """Run `astrbot run` with the arguments given."""
    threading.Thread(target=_end_with_starter, name="starter watch", daemon=True).start()
    sys.argv = ["astrbot", "run", *sys.argv[1:]]
    runpy.run_module("astrbot.cli", run_name="__main__")


def _end_with_starter() -> None:
    # The other end of standard input is the starter's; it closes also when that one is killed.
    # Not through `sys.stdin`: its lock, held by this thread, would spoil the interpreter's end.
    while os.read(_STANDARD_INPUT, 1024):
        continue
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
