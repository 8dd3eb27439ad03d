"""The composition root: it builds every part of the plugin once, starts it and stops it.

Nothing is global: `main.py` holds one `App`, and a reload of the plugin makes another. A store that
cannot be opened leaves the plugin loaded but off, and the chat goes on; it is tried again until it
can be.
"""

import asyncio
import os
import socket
from dataclasses import dataclass, replace
from functools import partial
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
from .chat_answers import ChatAnswers
from .chat_off import ChatOff
from .chat_switch import ChatSwitch
from .clock import SystemClock
from .commands import Commands
from .config import parse_settings
from .dashboard import DashboardDoors
from .home_facts import told_to_others
from .host import AstrBotHost
from .host_commands import HostCommands
from .languages import Languages
from .live_settings import LiveSettings
from .log_bridge import LogBridge
from .messenger import AstrBotMessenger
from .owned_tasks import OwnedTasks
from .page_parts import PageParts
from .progress import Progress
from .request import RequestParts, Requests
from .static_agents import StaticAgents, TakenUpRuns
from .tools import ModelTools
from .turns import Turns
from .wake_event import drop_empty, is_from_us
from .workers import Workers, make_workers

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

    services: Services
    sessions: Sessions
    static: StaticAgents
    turns: Turns
    off: ChatOff
    calls: ToolCalls
    requests: Requests
    taken_up: TakenUpRuns
    commands: Commands
    host_commands: HostCommands
    answers: ChatAnswers
    progress: Progress
    workers: Workers


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
        self._switch = ChatSwitch(context, self.settings.current, plugin=PLUGIN_NAME)
        self._languages = Languages(self.settings.current)
        self._messenger = AstrBotMessenger(context, self._switch, self._languages)
        self._page = PageParts(context, config, self.settings, self._host)
        self._doors = DashboardDoors(
            context, self.settings, self._clock, folder=self._folder, plugin=PLUGIN_NAME
        )
        self.settings.follow(self._settings_changed)
        self._parts: _Parts | None = None
        self._retrying = OwnedTasks()
        self._log = LogBridge()

    async def start(self) -> None:
        """Open the store and take up what a reload cut off; log what is wrong, once.

        When the store cannot be opened now, the plugin is off until a later try succeeds.
        """
        self._log.open()
        for problem in self._problems:
            logger.warning("Configuration: %s", problem.text)
        self.check_references()
        if self._context.platform_manager.get_insts():
            # AstrBot is up: the plugin was loaded anew. At boot platforms come later.
            self._host.begin()
            self._messenger.begin()
        await self._doors.open()
        if (error := await self._open()) is not None:
            logger.error("The sub-agents are off: %s %s", error, _advice(error))
            if not isinstance(error, StoreTooNew):
                self._retrying.start(self._try_again(error), what="Opening the store again")

    async def stop(self) -> None:
        """End everything; unfinished runs stay in the store and are taken up at the next start."""
        try:
            await self._doors.close()
            await self._retrying.finish(seconds=0)
            parts, self._parts = self._parts, None
            if parts is not None:
                await _close(parts)
        finally:
            self._log.close()

    def check_references(self) -> None:
        """Log configured models and personas that AstrBot does not have."""
        for text in self._page.unknown_references(self.settings.current()):
            logger.warning("Configuration: %s", text)

    async def chats_can_be_reached(self) -> None:
        """AstrBot has started: what was cut off goes on, what waits from before is brought."""
        self._host.begin()
        self._messenger.begin()
        if (parts := self._parts) is not None:
            parts.workers.look()
            await _begin_bringing(parts)

    async def hear(self, event: AstrMessageEvent) -> str:
        """A message came in; the answer for the chat when it was meant for us, else ""."""
        if (parts := self._parts) is None or is_from_us(event):
            return ""
        self._languages.heard(SessionId(event.unified_msg_origin), event.message_str)
        await parts.host_commands.seen(event)
        return await parts.answers.take(event)

    async def command(self, event: AstrMessageEvent, line: str) -> str:
        """Answer `/subagents` with what stands behind it."""
        if (parts := self._parts) is None:
            return self._languages.text("command.off", SessionId(event.unified_msg_origin))
        return await parts.commands.answer(event, line)

    async def message_sent(self, event: AstrMessageEvent) -> None:
        """AstrBot has answered a message."""
        if (parts := self._parts) is not None:
            await parts.host_commands.carried_out(event)

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
        try:
            if (parts := self._parts) is not None:
                await parts.requests.fill(event, request)
        except SubAgentError as error:
            logger.error("Results could not be handed over: %s", error)
        finally:
            drop_empty(event)

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

    def _settings_changed(self) -> None:
        if (parts := self._parts) is None:
            return
        parts.sessions.settings_changed()
        parts.workers.look()
        if not self.settings.current().enabled:
            parts.off.look_everywhere()

    async def _open(self) -> StoreError | None:
        """Switch the plugin on; the error when the store does not let it."""
        try:
            parts = self._build()
        except StoreError as error:
            return error
        try:
            await parts.workers.open()
            await parts.sessions.start()
        except StoreError as error:
            await _close(parts)
            return error
        except BaseException:
            # Else the store would stay locked for whoever tries next.
            await _close(parts)
            raise
        self._parts = parts
        self._doors.api.switch_on(self._page.api(parts.sessions, parts.services, parts.static))
        if self._messenger.is_on:
            await _begin_bringing(parts)
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
        current = self.settings.current
        static = StaticAgents(self._context, current)
        workers = make_workers(current, self._folder, lambda: self._host.is_up)
        services = replace(self._services(), sharing=workers.sharing(static.all))
        sessions = Sessions(services)
        switch = self._switch
        off = ChatOff(switch, sessions, self.bus, self._clock)
        told = partial(told_to_others, context=self._context) if services.sharing else None
        turns = Turns(sessions, self._clock, told)
        calls = ToolCalls(turns, off, self._clock)
        tools = ModelTools(calls.answer, current)
        requests = Requests(
            self._context, RequestParts(turns=turns, tools=tools, static=static, bus=self.bus)
        )
        return _Parts(
            services=services,
            sessions=sessions,
            static=static,
            turns=turns,
            off=off,
            calls=calls,
            requests=requests,
            taken_up=TakenUpRuns(static, sessions, self.bus),
            commands=Commands(sessions, static, self._languages),
            host_commands=HostCommands(sessions, turns, self._messenger, self._languages),
            answers=ChatAnswers(self._context, sessions, self._languages),
            progress=Progress(current, self._messenger, self._languages, self.bus, self._clock),
            workers=workers,
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
            messenger=self._messenger,
        )


async def _begin_bringing(parts: _Parts) -> None:
    try:
        await parts.sessions.courier.start()
    except StoreError as error:
        logger.error("Results that wait from before are brought later: %s", error)


async def _close(parts: _Parts) -> None:
    parts.requests.close()
    await parts.progress.close()
    parts.taken_up.close()
    await parts.turns.close()
    await parts.off.close()
    # From here on waiting tools return and say that the plugin is being reloaded.
    await parts.sessions.close()
    await parts.calls.returned()
    await parts.workers.close()


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
