"""This process among those that share a store: put together, or not, by the settings.

Sharing that was asked for and cannot be had is told to the bot's owner, in one of two ways. Without
a PostgreSQL database nobody can be sharing this process's store: it works alone. With one, others
may be at work in it: a process that knows nothing of them would take their runs and answer in their
chats, so it stays off until it can share. Neither loses anything.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astrbot.api import logger

from ..manager import Settings
from ..manager.errors import StoreUnavailable
from ..manager.settings import StaticAgentSettings
from ..manager.store.address import ServerAddress, parse_address
from ..manager.workers.loading import load_sharing
from ..manager.workers.ports import Sharing

if TYPE_CHECKING:
    from ..manager.workers.postgres import PostgresSharing

_HOME_FILE = "home"
_LONGEST_HOST = 20
_HOME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Workers:
    """What this process shares its work through; there is nothing where it works alone."""

    def __init__(self, shared: "PostgresSharing | None") -> None:
        """Hold it; see `make_workers`."""
        self._shared = shared

    def sharing(self, static_agents: Callable[[], Sequence[StaticAgentSettings]]) -> Sharing | None:
        """What the core works with; None: this process works alone."""
        if self._shared is None:
            return None
        return replace(self._shared.sharing, static_agents=static_agents)

    async def open(self) -> None:
        """Connect to the others.

        Raises:
            StoreUnavailable: It cannot be done now; the text says what to do.
        """
        if self._shared is not None:
            await self._shared.open()
            logger.info(
                "This process shares the work of its sub-agents as %s.", self._shared.sharing.home
            )

    def look(self) -> None:
        """This process may take more runs than before."""
        if self._shared is not None:
            self._shared.look()

    async def close(self) -> None:
        """Part from the others."""
        if self._shared is not None:
            await self._shared.close()


def make_workers(
    settings: Callable[[], Settings], folder: Path, is_up: Callable[[], bool]
) -> Workers:
    """Put sharing together by the settings.

    Args:
        settings: Those of now.
        folder: The plugin's data folder.
        is_up: Whether AstrBot has started: before, it lacks models and tools.

    Raises:
        StoreUnavailable: It is on and cannot be had with this database; the text says why.
    """
    url = settings().database_url
    if not settings().workers.enabled:
        return Workers(None)
    address = parse_address(url) if url else None
    if not isinstance(address, ServerAddress):
        logger.error(
            "`workers.enabled` needs a PostgreSQL database in `database_url`, the same in all "
            "processes. This process works alone until it has one and the plugin is reloaded."
        )
        return Workers(None)
    _refuse_loop_without_sockets()

    def places(in_hand: int) -> bool:
        return is_up() and in_hand < settings().max_parallel_total

    return Workers(load_sharing(address.dsn, home=home_name(folder), places=places))


def home_name(folder: Path) -> str:
    """The name of this process, the same for as long as its data folder exists.

    Raises:
        StoreUnavailable: It can neither be read nor written.
    """
    file = folder / _HOME_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            host = re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:_LONGEST_HOST].strip("-")
            file.write_text(f"{host or 'bot'}-{secrets.token_hex(4)}\n", "utf-8")
        name = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnavailable(
            f"the name of this process, in {file}, is out of reach: {error}"
        ) from None
    if not _HOME.fullmatch(name):
        raise StoreUnavailable(
            f"{file} holds no name: 1 to 64 letters, digits, dots, dashes and underscores. "
            "Delete it to have a new one made; chats of the old name then wait until they are used"
        )
    return name


def _refuse_loop_without_sockets() -> None:
    """Psycopg cannot work on the event loop that Python uses on Windows."""
    proactor = getattr(asyncio, "ProactorEventLoop", None)
    if proactor is not None and isinstance(asyncio.get_running_loop(), proactor):
        raise StoreUnavailable(
            "sharing its work needs Linux or macOS, or AstrBot in a container; switch off "
            "`workers.enabled` on Windows"
        )
