"""Word of a running demo, which the starter leaves in the data folder for `ask`.

Standard library only: `ask` must be able to say that nothing runs before anything is installed.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

USER = "astrbot"

_FILE = "instance.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A running demo, as `ask` finds it."""

    url: str
    user: str
    password: str
    token: str = ""
    """Of a login made before: AstrBot slows down many logins in a row."""


def instance_file(path: Path) -> Path:
    """Return where in a data folder the word stands."""
    return path / _FILE


def read_instance(path: Path) -> Instance | None:
    """Return the instance that runs in a data folder, None when there is no word of one."""
    try:
        return Instance(**json.loads(instance_file(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)
