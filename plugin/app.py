"""The composition root: it builds every part of the plugin once, starts it and stops it.

Nothing is global: `main.py` holds one `App`, and a reload of the plugin makes another. A store that
cannot be opened leaves the plugin loaded but off, and the chat goes on.
"""

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Context, StarTools

from ..manager import EventBus, Services, SessionId, Sessions, Settings, SubAgentError
from ..manager.errors import StoreError, StoreLocked, StoreTooNew
from ..manager.store import SqlStore
from .calls import ToolCalls
from .chat_off import ChatOff
from .chat_switch import ChatSwitch
from .clock import SystemClock
from .config import parse_settings
from .host import AstrBotHost
from .request import Requests
from .tools import ModelTools
from .turns import Turns

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN_NAME = "astrbot_plugin_subagents"
_FILES = "sessions"
"""The folder of the sessions' folders, in the plugin's data folder."""
_STORE_FILE = "subagents.sqlite3"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What exists while the plugin is on."""

    sessions: Sessions
    turns: Turns
    off: ChatOff
    calls: ToolCalls
    requests: Requests


class App:
    """The plugin as a whole."""

    def __init__(self, context: Context, config: object) -> None:
        self._context = context
        self._settings, self._problems = parse_settings(config)
        self._clock = SystemClock()
        self.bus = EventBus()
        """Everything that happens in the plugin."""
        self._folder: Path = StarTools.get_data_dir(PLUGIN_NAME)
        self._host = AstrBotHost(context, files=self._folder / _FILES)
        self._parts: _Parts | None = None

    async def start(self) -> None:
        """Open the store and take up what a reload cut off; log what is wrong, once."""
        for problem in self._problems:
            logger.warning("Configuration: %s", problem.text)
        self.check_provider()
        parts = self._build()
        try:
            await parts.sessions.start()
        except StoreError as error:
            logger.error("The sub-agents are off: %s %s", error, _advice(error))
            await _close(parts)
        except BaseException:
            # Else the store would stay locked for whoever tries next.
            await _close(parts)
            raise
        else:
            self._parts = parts

    async def stop(self) -> None:
        """End everything; unfinished runs stay in the store and are taken up at the next start."""
        parts, self._parts = self._parts, None
        if parts is not None:
            await _close(parts)

    def check_provider(self) -> None:
        """Log a configured model that AstrBot does not have.

        At boot AstrBot loads plugins before its providers: then there is nothing to say yet.
        """
        wanted = self._settings.dynamic_agents.default_provider_id
        known = sorted(self._host.provider_ids())
        if wanted and known and wanted not in known:
            logger.warning(
                "Configuration: `dynamic_agents.default_provider_id` takes the id of a chat "
                "provider or an empty text; known: %s. Tasks that use it will fail.",
                ", ".join(known),
            )

    async def begin_turn(self, event: AstrMessageEvent) -> None:
        """AstrBot is about to ask the main model for this event."""
        if (parts := self._parts) is None:
            return
        session = SessionId(event.unified_msg_origin)
        try:
            if not await parts.off.ended(session):
                await parts.turns.begin(event)
        except SubAgentError as error:
            logger.error("No sub-agents in this turn: %s", error)

    async def fill_request(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        """The main model's request is made."""
        if (parts := self._parts) is None:
            return
        try:
            await parts.requests.fill(event, request)
        except SubAgentError as error:
            logger.error("Results could not be handed over: %s", error)

    def turn_answered(self, event: AstrMessageEvent) -> None:
        """The main agent has come to its end with an answer."""
        if self._parts and (open_turn := self._parts.turns.of(event)) is not None:
            open_turn.answered = True

    def _build(self) -> _Parts:
        services = Services(
            host=self._host,
            store=SqlStore(self._settings.database_url or self._folder / _STORE_FILE),
            clock=self._clock,
            bus=self.bus,
            settings=self._current_settings,
            executor=_process_id(),
            files=self._folder / _FILES,
        )
        sessions = Sessions(services)
        switch = ChatSwitch(self._context, self._current_settings, plugin=PLUGIN_NAME)
        off = ChatOff(switch, sessions, self.bus, self._clock)
        turns = Turns(sessions, self._clock)
        calls = ToolCalls(turns, off, self._clock)
        tools = ModelTools(calls.answer, self._settings)
        requests = Requests(self._context, turns, tools, self.bus)
        return _Parts(sessions=sessions, turns=turns, off=off, calls=calls, requests=requests)

    def _current_settings(self) -> Settings:
        return self._settings


async def _close(parts: _Parts) -> None:
    parts.requests.close()
    await parts.turns.close()
    await parts.off.close()
    # From here on waiting tools return and say that the plugin is being reloaded.
    await parts.sessions.close()
    await parts.calls.returned()


def _advice(error: StoreError) -> str:
    match error:
        case StoreLocked():
            return (
                "Stop the other bot that uses the same data folder, or set `database_url`; then "
                "reload the plugin."
            )
        case StoreTooNew():
            return "Then reload the plugin."
        case _:
            return (
                "Make room or give access in the plugin's data folder, or correct `database_url`; "
                "then reload the plugin."
            )


def _process_id() -> str:
    """Name this process: the same when the plugin is reloaded, another after any restart.

    AstrBot restarts itself by replacing the program in the same process (`os.execv` in
    core/process_restart.py), so its id and start time do not change; Python's secret for the
    hashes of texts does.
    """
    secret = hash(PLUGIN_NAME) & 0xFFFF_FFFF_FFFF
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{secret:012x}"
