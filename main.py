"""The door: AstrBot loads this module, finds the Star in it and calls its decorated methods.

Every hook and command of the plugin stands here, since AstrBot binds decorated methods of this
module only; each hands on to `plugin/app.py` at once.
"""

from typing import Any

from astrbot.api import AstrBotConfig, FunctionTool
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event import filter as events
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, Star

from .plugin.app import App
from .plugin.tools import spare_reserved

LAST = -100_000
"""The priority of a hook that runs after those of other plugins."""


class SubAgents(Star):
    """Sub-agents that the bot's main model makes at run time."""

    def __init__(self, context: Context, config: AstrBotConfig | None = None) -> None:
        super().__init__(context, config)
        self.app = App(context, {} if config is None else config)

    async def initialize(self) -> None:
        """AstrBot loaded the plugin, at boot or anew."""
        await self.app.start()

    async def terminate(self) -> None:
        """AstrBot is about to reload, disable or uninstall the plugin, or to stop."""
        await self.app.stop()

    @events.on_astrbot_loaded()
    async def when_astrbot_is_loaded(self) -> None:
        """AstrBot has come up; its providers are there."""
        self.app.check_provider()

    @events.on_waiting_llm_request()
    async def when_a_turn_begins(self, event: AstrMessageEvent) -> None:
        """The main model is going to be asked."""
        await self.app.begin_turn(event)

    @events.on_llm_request(priority=LAST)
    async def when_a_request_is_made(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """The main model's request is complete but for ours."""
        await self.app.fill_request(event, req)

    @events.on_using_llm_tool(priority=LAST)
    async def when_a_tool_is_called(
        self, event: AstrMessageEvent, tool: FunctionTool, tool_args: dict[str, Any] | None
    ) -> None:
        """The main model called a tool."""
        spare_reserved(tool, tool_args)

    @events.on_agent_done()
    async def when_the_agent_is_done(
        self, event: AstrMessageEvent, run_context: object, response: LLMResponse
    ) -> None:
        """The main model gave its answer."""
        self.app.turn_answered(event)
