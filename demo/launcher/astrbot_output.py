"""What AstrBot prints: all of it goes to the log file, errors of its start also to the screen."""

import re
from collections import deque
from typing import TextIO

LAST_LINES = 25

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADER = re.compile(r"^\s*\[\d{2}:\d{2}:\d{2}")
_IMPORTANT = re.compile(r"\[(?:ERRO|ERROR|CRIT|CRITICAL)\]")
# AstrBot looks for news in the internet and does without when there is none.
_HARMLESS = re.compile(r"\[(?:t2i\.network_strategy|utils\.llm_metadata):")


class AstrBotOutput:
    """Takes the output of one AstrBot line by line."""

    def __init__(self) -> None:
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        """The newest lines, without colours."""
        self.is_shown = True
        """Whether errors are shown on the screen."""
        self._told = True

    def take(self, line: str, log: TextIO) -> None:
        """Write a line to the log and show it if it is to be shown."""
        plain = _COLOUR.sub("", line).rstrip()
        log.write(f"{plain}\n")
        log.flush()
        self.last_lines.append(plain)
        if _HEADER.match(plain):
            self._told = not _is_important(plain)
            if not self._told:
                self._show(plain)
        elif not self._told:
            self._told = True
            self._show("(more in the log)")

    def _show(self, text: str) -> None:
        if self.is_shown:
            print(f"  astrbot: {text}", flush=True)


def _is_important(line: str) -> bool:
    return _IMPORTANT.search(line) is not None and _HARMLESS.search(line) is None
