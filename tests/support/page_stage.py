"""The page by itself, on a core with fakes behind it that works in real time.

Everything between page and fakes is the real thing: the server with its login, the API, the
settings and their forms. What AstrBot does otherwise is in `webui`.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Browser, Page

from astrbot_plugin_subagents.dashboard_api import Api, Dashboard
from astrbot_plugin_subagents.dashboard_api.server import DashboardServer, Place
from astrbot_plugin_subagents.dashboard_api.testing import FakeCatalog
from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.events import RunChanged
from astrbot_plugin_subagents.manager.models import RunId
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.manager.store import Store
from astrbot_plugin_subagents.manager.testing import FakeClock, FakeHost, Script
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from astrbot_plugin_subagents.plugin.clock import SystemClock
from astrbot_plugin_subagents.plugin.config import parse_settings
from astrbot_plugin_subagents.plugin.live_settings import LiveSettings
from astrbot_plugin_subagents.plugin.page_settings import AstrBotSettings
from astrbot_plugin_subagents.plugin.setting_fields import SettingFields

from .big_store import BigStore
from .browser import Look, Witness, opened
from .core import Core

TOKEN = "a token that nobody guesses"
CHAT = "telegram:FriendMessage:chat / of a test?"
"""Ids of chats may hold anything, also what means something in an address."""

_ROOT = Path(__file__).parents[2]


class RealClock(FakeClock):
    """The clock of the plugin: a browser's time cannot be made up as easily."""

    def __init__(self) -> None:
        super().__init__()
        self._real = SystemClock()

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._real.now()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._real.monotonic()

    def new_id(self) -> str:
        """See `Clock.new_id`."""
        return self._real.new_id()

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        """See `Clock.call_at`."""
        return self._real.call_at(when, callback)


class KeptConfig(dict[str, Any]):
    """Stands in for AstrBot's configuration of the plugin: it remembers what was saved."""

    def __init__(self, **values: Any) -> None:
        super().__init__(values)
        self.saved: list[dict[str, Any]] = []

    def save_config(self, replace_config: dict[str, Any] | None = None) -> None:
        """Save it."""
        if replace_config is not None:
            self.clear()
            self.update(replace_config)
        self.saved.append(dict(self))


class PageStage:
    """One core with its page in front of it, from `staged`."""

    def __init__(
        self, folder: Path, script: Script | None, store: Store | None, config: dict[str, Any]
    ) -> None:
        self.config = KeptConfig(**config)
        self.settings = LiveSettings(parse_settings(self.config)[0])
        self.core = Core(
            folder,
            host=FakeHost(script, tools=("search", "write"), skills=("drawing",)),
            store=store,
            clock=RealClock(),
            messenger=FakeMessenger(),
            live_settings=self.settings.current,
        )
        self.desk = AstrBotSettings(self.config, self.settings, SettingFields(_ROOT), _nothing)
        self.api = Api(
            Dashboard(
                services=self.core.services,
                sessions=self.core.sessions,
                settings=self.desk,
                catalog=FakeCatalog(),
                static_agents=self._static_agents,
                store_kind="sqlite",
                version="1.2.3",
                started_at=self.core.clock.now(),
            )
        )
        place = Place(host="127.0.0.1", port=0, token=TOKEN)
        self.server = DashboardServer(
            self.api, place, pages=_ROOT / "pages" / "subagents", clock=self.core.clock
        )

    @property
    def url(self) -> str:
        """The address of the page, with a slash at its end."""
        return f"http://127.0.0.1:{self.server.port}/"

    @asynccontextmanager
    async def opened(
        self,
        browser: Browser,
        witness: Witness,
        look: Look | None = None,
        *,
        at: str = "",
        signed_in: bool = True,
    ) -> AsyncIterator[Page]:
        """The page in a fresh browser.

        Args:
            browser: Where.
            witness: Sees what it does.
            look: How the browser is set up.
            at: Which view, as `place` gives it.
            signed_in: Whether somebody has signed in there before.
        """
        async with opened(browser, witness, look or Look()) as page:
            if signed_in:
                done = await page.request.post(f"{self.url}api/login", data={"token": TOKEN})
                assert done.ok
            await page.goto(f"{self.url}#/{at}")
            yield page

    async def agent(self, name: str, **arguments: Any) -> None:
        """Have a sub-agent made in the chat by its main model."""
        turn = await self.core.turn(session=CHAT)
        await self.core.create(name, turn, **arguments)

    async def begin(self, name: str, task: str) -> RunId:
        """Have a task begun in the background, by a sub-agent that is made if it is not there."""
        manager = await self.core.open(CHAT)
        if name not in {config.name for config in manager.agents()}:
            await self.agent(name)
        turn = await self.core.turn(session=CHAT)
        await self.core.call(f"transfer_to_{name}", turn, input=task, background_task=True)
        return next(
            event.run.run_id
            for event in reversed(self.core.events)
            if isinstance(event, RunChanged) and event.run.input == task
        )

    def _static_agents(self) -> Sequence[StaticAgentSettings]:
        return self.settings.current().static_agents


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyStage:
    """The page with very much to show."""

    stage: PageStage
    big: BigStore


@asynccontextmanager
async def staged(
    folder: Path,
    *,
    script: Script | None = None,
    store: Store | None = None,
    **config: Any,
) -> AsyncIterator[PageStage]:
    """A core that has begun, with its page served.

    Args:
        folder: Of the test.
        script: What sub-agents do; by default each answers at once.
        store: By default an empty one in memory.
        config: Settings of the plugin, as AstrBot hands them over.
    """
    stage = PageStage(folder, script, store, config)
    async with stage.core:
        await stage.server.start()
        try:
            yield stage
        finally:
            await stage.api.close()
            await stage.server.stop()


def place(*parts: str) -> str:
    """What stands behind `#/` for a view, such as `place("session", CHAT)`."""
    return "/".join(quote(part, safe="") for part in parts)


def run_place(run_id: str, session: str = CHAT) -> str:
    """Where the view of a run is."""
    return place("session", session, "run", run_id)


def _nothing(settings: Settings) -> tuple[str, ...]:
    return ()
