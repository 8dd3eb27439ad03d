"""How a program of the demo begins: the wish to end it is taken from the first moment on."""

import importlib
import signal
import sys
from pathlib import Path

from .problem import Problem
from .stopping import StopRequest


def begin(module: str, command: str, clone: Path) -> int:
    """Run one of the demo's programs.

    Args:
        module: Its module in this package, with a function `run(clone, stop)`.
        command: What the person at the terminal typed.
        clone: The root of this project.

    Returns:
        The exit code.
    """
    stop = StopRequest()
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, stop.take)
    try:
        # Imported only now, since it takes long enough for a Ctrl-C to come meanwhile.
        code: int = importlib.import_module(f"{__package__}.{module}").run(clone, stop)
    except Problem as error:
        print(f"{command}: {error}", file=sys.stderr, flush=True)
        return 2
    except ModuleNotFoundError as error:
        print(
            f"{command}: the Python package {error.name!r} is missing here. `{command}` makes an "
            "environment that has it.",
            file=sys.stderr,
            flush=True,
        )
        return 2
    return code
