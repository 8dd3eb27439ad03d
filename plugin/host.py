"""AstrBot behind the core's port: what exists there, and the driver of children, in one object."""

import asyncio
from pathlib import Path

from astrbot.api.star import Context

from ..manager.host import AgentOutcome, AgentRequest, RunObserver
from .catalog import AstrBotCatalog
from .child_tools import ChildTools
from .driver import AstrBotDriver


class AstrBotHost(AstrBotCatalog):
    """See `Host`."""

    def __init__(self, context: Context, *, files: Path) -> None:
        """Set the host up.

        Args:
            context: AstrBot's side.
            files: Where sessions have their folders.
        """
        tools = ChildTools(context)
        super().__init__(context, tools, files=files)
        self._driver = AstrBotDriver(context, tools)
        self._up = asyncio.Event()

    def begin(self) -> None:
        """AstrBot has started: at boot it loads plugins before its models and other plugins."""
        self._up.set()

    @property
    def is_up(self) -> bool:
        """Whether AstrBot has started."""
        return self._up.is_set()

    async def until_up(self) -> None:
        """See `AgentDriver.until_up`."""
        await self._up.wait()

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        """See `AgentDriver.drive`."""
        return await self._driver.drive(request, observer)
