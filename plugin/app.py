"""The composition root: it builds every part of the plugin once, starts it and stops it.

Nothing is global: `main.py` holds one `App`, and a reload of the plugin makes another. A store that
cannot be opened leaves the plugin loaded but off, and the chat goes on; it is tried again until it
can be.
"""

import asyncio
import os
import socket
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, StarTools

from ..manager import EventBus, Services, SessionId, Sessions, SubAgentError
from ..manager.errors import StoreError, StoreLocked, StoreTooNew
from ..manager.store import SqlStore
from ..subagent_tools import child_tools
from .calls import ToolCalls
from .chat_off import ChatOff
from .chat_switch import ChatSwitch
from .clock import SystemClock
from .config import parse_settings
from .host import AstrBotHost
from .live_settings import LiveSettings
from .owned_tasks import OwnedTasks
from .persona import persona_ids
from .references import unknown_references
from .request import RequestParts, Requests
from .static_agents import StaticAgents, TakenUpRuns
from .tools import ModelTools
from .turns import Turns

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN_NAME = "astrbot_plugin_subagents"
_FILES = "sessions"
"""The folder of the sessions' folders, in the plugin's data folder."""
_STORE_FILE = "subagents.sqlite3"
_RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0)
_LATER_RETRY_SECONDS = 30.0
"""When a store that could not be opened is tried again; each counts from the try before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What exists while the plugin is on."""

    sessions: Sessions
    turns: Turns
    off: ChatOff
    calls: ToolCalls
    requests: Requests
    taken_up: TakenUpRuns


class App:
    """The plugin as a whole."""

    def __init__(self, context: Context, config: object) -> None:
        self._context = context
        configured, self._problems = parse_settings(config)
        self.settings = LiveSettings(configured)
        """What the plugin works by; other plugins may add tools to it."""
        self._clock = SystemClock()
        self.bus = EventBus()
        """Everything that happens in the plugin."""
        self._folder: Path = StarTools.get_data_dir(PLUGIN_NAME)
        self._host = AstrBotHost(context, files=self._folder / _FILES)
        self._parts: _Parts | None = None
        self._retrying = OwnedTasks()

    async def start(self) -> None:
        """Open the store and take up what a reload cut off; log what is wrong, once.

        When the store cannot be opened now, the plugin is off until a later try succeeds.
        """
        for problem in self._problems:
            logger.warning("Configuration: %s", problem.text)
        self.check_references()
        if (error := await self._open()) is not None:
            logger.error("The sub-agents are off: %s %s", error, _advice(error))
            if not isinstance(error, StoreTooNew):
                self._retrying.start(self._try_again(error), what="Opening the store again")

    async def stop(self) -> None:
        """End everything; unfinished runs stay in the store and are taken up at the next start."""
        await self._retrying.finish(seconds=0)
        parts, self._parts = self._parts, None
        if parts is not None:
            await _close(parts)

    def check_references(self) -> None:
        """Log configured models and personas that AstrBot does not have.

        At boot AstrBot loads plugins before its providers: then there is nothing to say yet.
        """
        if providers := self._host.provider_ids():
            for text in unknown_references(
                self.settings.current(), providers=providers, personas=persona_ids(self._context)
            ):
                logger.warning("Configuration: %s", text)

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

    def agent_begins(self, event: AstrMessageEvent, run_context: object) -> None:
        """An agent is about to work for this event."""
        if self._parts is not None:
            self._parts.turns.agent_begins(event, run_context)

    def agent_is_done(
        self, event: AstrMessageEvent, run_context: object, response: LLMResponse
    ) -> None:
        """An agent has come to its end for this event."""
        if self._parts is not None:
            self._parts.turns.agent_is_done(event, run_context, response)

    async def _open(self) -> StoreError | None:
        """Switch the plugin on; the error when the store does not let it."""
        parts = self._build()
        try:
            await parts.sessions.start()
        except StoreError as error:
            await _close(parts)
            return error
        except BaseException:
            # Else the store would stay locked for whoever tries next.
            await _close(parts)
            raise
        self._parts = parts
        return None

    async def _try_again(self, told: StoreError) -> None:
        """Open the store as soon as it can be; log each other reason why it cannot, once."""
        for seconds in chain(_RETRY_SECONDS, repeat(_LATER_RETRY_SECONDS)):
            await asyncio.sleep(seconds)
            if (error := await self._open()) is None:
                logger.info("The sub-agents are on: the store could be opened.")
                return
            if str(error) != str(told):
                logger.error("The sub-agents are still off: %s %s", error, _advice(error))
                told = error
            if isinstance(error, StoreTooNew):
                return

    def _build(self) -> _Parts:
        sessions = Sessions(self._services())
        current = self.settings.current
        switch = ChatSwitch(self._context, current, plugin=PLUGIN_NAME)
        off = ChatOff(switch, sessions, self.bus, self._clock)
        turns = Turns(sessions, self._clock)
        calls = ToolCalls(turns, off, self._clock)
        tools = ModelTools(calls.answer, current())
        static = StaticAgents(self._context, current)
        requests = Requests(
            self._context, RequestParts(turns=turns, tools=tools, static=static, bus=self.bus)
        )
        return _Parts(
            sessions=sessions,
            turns=turns,
            off=off,
            calls=calls,
            requests=requests,
            taken_up=TakenUpRuns(static, sessions, self.bus),
        )

    def _services(self) -> Services:
        return Services(
            host=self._host,
            store=SqlStore(self.settings.current().database_url or self._folder / _STORE_FILE),
            clock=self._clock,
            bus=self.bus,
            settings=self.settings.current,
            executor=_process_id(),
            files=self._folder / _FILES,
            child_tools=child_tools,
        )


async def _close(parts: _Parts) -> None:
    parts.requests.close()
    parts.taken_up.close()
    await parts.turns.close()
    await parts.off.close()
    # From here on waiting tools return and say that the plugin is being reloaded.
    await parts.sessions.close()
    await parts.calls.returned()


def _advice(error: StoreError) -> str:
    match error:
        case StoreLocked():
            return (
                "Stop the other bot that uses the same data folder, or set `database_url`. It is "
                "tried again by itself; nobody need reload the plugin."
            )
        case StoreTooNew():
            return "Then reload the plugin."
        case _:
            return (
                "Make room or give access in the plugin's data folder, or correct `database_url`. "
                "It is tried again by itself; nobody need reload the plugin."
            )


def _process_id() -> str:
    """Name this process: the same when the plugin is reloaded, another after any restart.

    AstrBot restarts itself by replacing the program in the same process (`os.execv` in
    core/process_restart.py), so its id and start time do not change; Python's secret for the
    hashes of texts does.
    """
    secret = hash(PLUGIN_NAME) & 0xFFFF_FFFF_FFFF
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{secret:012x}"
