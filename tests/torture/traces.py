"""What the killed processes leave beside the store: each line is written at once and whole."""

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHATS = ("one", "two", "three", "four")
CUT_OFF = ("three", "four")
"""In these chats the turn that asks for the runs is cut off by the first kill."""
TURNS = 60
"""Steps of each run that call the tool which changes something."""
WRITES = "append"
"""The tool that changes something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """The files of one torture, and which life of the core writes."""

    folder: Path
    life: int = -1

    def add(self, name: str, **values: Any) -> None:
        """Append a line to a file."""
        line = json.dumps({"life": self.life, **values}) + "\n"
        file = os.open(self._path(name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def read(self, name: str) -> list[dict[str, Any]]:
        """All lines of a file."""
        path = self._path(name)
        text = path.read_text("utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def items_of(self, run_id: str) -> set[str]:
        """What a run has written."""
        return {line["item"] for line in self.read("effects") if line["run"] == run_id}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"


def items_of_turn(run_id: str, turn: int) -> list[str]:
    """What a run is to write in one of its turns: one to three items, in each life the same."""
    count = random.Random(f"{run_id} {turn}").randint(1, 3)
    return [f"{turn}.{number}" for number in range(1, count + 1)]
