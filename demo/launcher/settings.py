"""What the environment says about the demo, checked once."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .problem import Problem

DEFAULT_PORT = 6185
DEFAULT_DATA = ".demo"
OPENAI_BASE_URL = "https://api.openai.com/v1"
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model behind an OpenAI-compatible address."""

    base_url: str
    api_key: str
    name: str
    context_tokens: int
    """0: AstrBot's own table or default decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and with what the demo runs."""

    clone: Path
    data: Path
    port: int
    model: Model | None
    """None: the offline stand-in."""
    database_url: str = ""
    """A PostgreSQL database in which several demos share their work; "" is none."""

    @property
    def url(self) -> str:
        """The address of AstrBot's WebUI and HTTP API."""
        return f"http://{HOST}:{self.port}"

    @property
    def ask_command(self) -> str:
        """What to type in a shell to ask this demo something."""
        is_usual = self.data == self.clone / DEFAULT_DATA
        where = "" if is_usual else f" DATA={shlex.quote(str(self.data))}"
        return f'make ask{where} Q="..."'


def read_settings(environment: Mapping[str, str], clone: Path) -> Settings:
    """Read the environment variables PORT, DATA and OPENAI_*.

    Raises:
        Problem: A value cannot be used.
    """
    return Settings(
        clone=clone,
        data=data_folder(environment, clone),
        port=_port(environment.get("PORT", "")),
        model=_model(environment),
    )


def data_folder(environment: Mapping[str, str], clone: Path) -> Path:
    """Return the data folder: DATA, relative to where one stands, or `.demo` in the clone."""
    given = environment.get("DATA", "").strip()
    return Path(given).expanduser().resolve() if given else clone / DEFAULT_DATA


def _port(given: str) -> int:
    if not given.strip():
        return DEFAULT_PORT
    try:
        port = int(given)
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise Problem(f"PORT must be a number from 1 to 65535, not {given!r}.")
    return port


def _model(environment: Mapping[str, str]) -> Model | None:
    base_url = environment.get("OPENAI_BASE_URL", "").strip()
    api_key = environment.get("OPENAI_API_KEY", "").strip()
    if not base_url and not api_key:
        return None
    name = environment.get("OPENAI_MODEL", "").strip()
    if not name:
        raise Problem(
            "OPENAI_MODEL is missing: OPENAI_BASE_URL or OPENAI_API_KEY is set, so name the model "
            "to use, for example OPENAI_MODEL=gpt-4o-mini. Unset both for the offline stand-in."
        )
    return Model(
        base_url=base_url or OPENAI_BASE_URL,
        # The OpenAI client refuses an empty key; servers without keys ignore it.
        api_key=api_key or "none",
        name=name,
        context_tokens=0,
    )
