"""The bot as the dashboard sees it: the core, its surroundings, and who is asking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ..manager.manager import SubAgentManager
from ..manager.models import BOT, Asker, SessionId, Turn
from ..manager.services import Services
from ..manager.sessions import Sessions
from ..manager.settings import StaticAgentSettings
from .errors import ApiProblem
from .ports import Catalog, SettingsDesk

PAGE = Asker(owner=BOT, is_admin=True, is_alone=True)
"""Who asks on the page: an admin of the bot, who may do everything in every chat.

What is made there belongs to the bot, as static agents do. So no turn of a chat user clears it
away, no member can replace it, and its runs have the rights of whoever delegates to it, no more.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """What the API's functions work with."""

    services: Services
    sessions: Sessions
    settings: SettingsDesk
    catalog: Catalog
    static_agents: Callable[[], Sequence[StaticAgentSettings]]
    """The static agents of now, those of the platform included, as a turn would set them."""
    store_kind: Literal["sqlite", "postgresql"]
    version: str
    """The plugin's."""
    started_at: datetime
    """When the plugin was switched on."""

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return self.services.clock.now()

    async def manager(self, session: str) -> SubAgentManager:
        """The manager of a session that exists, with its static agents; for what changes it.

        Raises:
            ApiProblem: Nothing is kept of such a session, or another process looks after it.
            SubAgentError: It cannot be opened.
        """
        session_id = SessionId(session)
        if self.sessions.loaded(session_id) is None:
            await self.check_session(session_id)
        if await self.is_elsewhere(session_id):
            raise elsewhere()
        manager = await self.sessions.open(session_id)
        manager.set_static(self.static_agents())
        return manager

    async def is_elsewhere(self, session: SessionId) -> bool:
        """Whether another of the processes that share the store looks after a session."""
        if self.services.home is None:
            return False
        return await self.services.store.home_of(session) not in ("", self.services.home)

    async def check_session(self, session: SessionId) -> None:
        """Refuse a session of which nothing is kept.

        Raises:
            ApiProblem: It is unknown.
        """
        if await self.services.store.load_session(session) is None:
            raise unknown_session()


def page_turn(session: SessionId) -> Turn:
    """What stands for the turn where the core wants one: the page is in no turn."""
    return Turn(turn_id="", session=session, asker=PAGE)


def elsewhere() -> ApiProblem:
    """Another process looks after the session, and has its agents and its line in memory."""
    text = "Another process of the bot looks after this chat: use the dashboard there."
    return ApiProblem("elsewhere", text, status=409)


def unknown_session() -> ApiProblem:
    """There is no such session."""
    return ApiProblem("not_found", "Nothing is kept of such a session.", status=404)
