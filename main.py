"""The door: AstrBot loads this module, finds the Star in it and calls its decorated methods.

Every hook and command of the plugin stands here, since AstrBot binds decorated methods of this
module only; each hands on to `plugin/app.py` at once.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from astrbot.api import AstrBotConfig, FunctionTool
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event import filter as events
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, Star

from .plugin.app import App
from .plugin.commands import after_command
from .plugin.tools import spare_reserved

LAST = -100_000
"""The priority of a hook that runs after those of other plugins."""
FIRST = 100_000
"""The priority of a hook that runs before others can stop the event, which would skip it."""


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

    def add_blacklisted_tool(self, name: str) -> Callable[[], None]:
        """Keep a tool from all sub-agents, on top of `dynamic_agents.tools_blacklist`.

        For other plugins; it counts for tasks that start from now on, until this plugin is loaded
        anew.

        Returns:
            A function that takes it back.

        Raises:
            ValueError: It is no name.

        Source: docs/for-plugins.md
        """
        return self.app.settings.add_blacklisted_tool(name)

    def add_inherent_tool(self, name: str) -> Callable[[], None]:
        """Give a tool to all sub-agents that the model makes; else as `add_blacklisted_tool`.

        A sub-agent gets it only where its user may use it, and never against the black list.
        """
        return self.app.settings.add_inherent_tool(name)

    @events.on_astrbot_loaded()
    async def when_astrbot_is_loaded(self) -> None:
        """When AstrBot has started: checks the settings, and brings results that wait."""
        self.app.check_references()
        await self.app.chats_can_be_reached()

    @events.command("subagents")
    async def subagents(self, event: AstrMessageEvent) -> AsyncGenerator[object]:
        """Sub-agents of this chat: shows, stops, steers and answers them; `help` lists all."""
        yield event.plain_result(await self.app.command(event, after_command(event)))

    @events.event_message_type(events.EventMessageType.ALL, priority=FIRST)
    async def when_a_message_comes(self, event: AstrMessageEvent) -> AsyncGenerator[object]:
        """When a message comes: follows /stop, /reset and /new, takes answers to questions."""
        if answer := await self.app.hear(event):
            yield event.plain_result(answer)
            event.stop_event()

    @events.after_message_sent(priority=FIRST)
    async def when_a_message_was_sent(self, event: AstrMessageEvent) -> None:
        """When the bot has answered: a /reset reaches the sub-agents too."""
        await self.app.message_sent(event)

    @events.on_waiting_llm_request()
    async def when_a_turn_begins(self, event: AstrMessageEvent) -> None:
        """When a message is about to go to the main model: opens this chat's sub-agents."""
        await self.app.begin_turn(event)

    @events.on_llm_request(priority=LAST)
    async def when_a_request_is_made(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """Before the main model is asked: adds the sub-agent tools and arrived results."""
        await self.app.fill_request(event, req)

    @events.on_using_llm_tool(priority=LAST)
    async def when_a_tool_is_called(
        self, event: AstrMessageEvent, tool: FunctionTool, tool_args: dict[str, Any] | None
    ) -> None:
        """When a sub-agent tool is called: keeps its arguments apart from AstrBot's own."""
        spare_reserved(tool, tool_args)

    @events.on_agent_begin(priority=FIRST)
    async def when_the_agent_begins(self, event: AstrMessageEvent, run_context: object) -> None:
        """When the main model starts on a message: follows which results each request carries."""
        self.app.agent_begins(event, run_context)

    @events.on_agent_done(priority=FIRST)
    async def when_the_agent_is_done(
        self, event: AstrMessageEvent, run_context: object, response: LLMResponse
    ) -> None:
        """When the main model has answered: notes that it has seen what it was handed."""
        self.app.agent_is_done(event, run_context, response)
