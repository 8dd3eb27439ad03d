"""Starts AstrBot with this plugin and a model on this machine; `make run` calls it.

Environment: PORT (6185), DATA (`.demo` in the clone), and for a real model OPENAI_BASE_URL or
OPENAI_API_KEY together with OPENAI_MODEL. Without them the offline stand-in is the model.
"""

import importlib
import signal
import sys
from pathlib import Path

from launcher.problem import Problem
from launcher.stopping import StopRequest

CLONE = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the demo and return its exit code."""
    stop = StopRequest()
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, stop.take)
    try:
        # Imported only now, since it takes long enough for a Ctrl-C to come meanwhile.
        code: int = importlib.import_module("launcher.session").run(CLONE, stop)
    except Problem as error:
        print(f"make run: {error}", file=sys.stderr, flush=True)
        return 2
    except ModuleNotFoundError as error:
        print(
            f"make run: the Python package {error.name!r} is missing here. `make run` makes an "
            "environment that has it.",
            file=sys.stderr,
            flush=True,
        )
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
