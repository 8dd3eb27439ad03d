"""Starts AstrBot with this plugin and a model on this machine; `make run` calls it.

Environment: PORT (6185), DATA (`.demo` in the clone), and for a real model OPENAI_BASE_URL or
OPENAI_API_KEY together with OPENAI_MODEL. Without them the offline stand-in is the model.
"""

import sys
from pathlib import Path

from launcher.entry import begin

CLONE = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the demo and return its exit code."""
    return begin("session", "make run", CLONE)


if __name__ == "__main__":
    sys.exit(main())
