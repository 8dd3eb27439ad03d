"""SqlPages: the looks over many sessions of a `SqlStore`; the functions are in `sql_pages.py`."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import override

from ..models import ConversationId, DeliveryState, RunId, SessionId
from . import sql_pages
from .database import Database
from .protocol_pages import (
    MessagePage,
    RunPage,
    RunSearch,
    SessionPage,
    SessionsOnly,
    SessionSummary,
    StoreCounts,
    StorePages,
    UsageBy,
    UsageSum,
)


class SqlPages(StorePages):
    """What the dashboard reads of a database."""

    def __init__(self, database: Callable[[], Database]) -> None:
        """Set it up; `database` gives the one that is open, or raises `StoreUnavailable`."""
        self._database = database

    @override
    async def session_page(
        self, *, text: str, only: SessionsOnly, day: datetime, offset: int, limit: int
    ) -> SessionPage:
        return await self._database().read(
            sql_pages.session_page, text=text, only=only, day=day, offset=offset, limit=limit
        )

    @override
    async def session_summary(self, session: SessionId, *, day: datetime) -> SessionSummary | None:
        return await self._database().read(sql_pages.session_summary, session, day=day)

    @override
    async def run_page(self, search: RunSearch, *, offset: int, limit: int) -> RunPage:
        return await self._database().read(sql_pages.run_page, search, offset=offset, limit=limit)

    @override
    async def store_counts(self, *, day: datetime) -> StoreCounts:
        return await self._database().read(sql_pages.counts, day=day)

    @override
    async def usage_sums(
        self, by: UsageBy, *, since: datetime, session: SessionId | None = None, most: int = 400
    ) -> list[UsageSum]:
        return await self._database().read(
            sql_pages.usage_sums, by, since=since, of=session, most=most
        )

    @override
    async def message_page(
        self, conversation: ConversationId, run_id: RunId, *, offset: int, limit: int
    ) -> MessagePage:
        return await self._database().read(
            sql_pages.message_page, conversation, run_id, offset=offset, limit=limit
        )

    @override
    async def conversation_page(
        self, conversation: ConversationId, *, offset: int, limit: int
    ) -> MessagePage:
        return await self._database().read(
            sql_pages.message_page, conversation, None, offset=offset, limit=limit
        )

    @override
    async def deliveries_of(self, run_ids: Collection[RunId]) -> dict[RunId, DeliveryState]:
        return await self._database().read(sql_pages.deliveries_of, run_ids)
