"""A small AstrBot plugin with tools by name that do nothing but say so, and with every hook."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from .astrbot_host import Bot

RUN_ID = "astrbot_plugin_subagents.run_id"
"""The extra of a child's event."""

_SOURCE = """
from astrbot.api import FunctionTool
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Tool(FunctionTool):
    def __init__(self, star, name):
        schema = {"type": "object", "properties": {}}
        super().__init__(name=name, description=f"Does {name}.", parameters=schema)
        self.star = star

    async def call(self, context, **arguments):
        self.star.ran.append(self.name)
        return self.star.words or f"{self.name} is done."

class Box(Star):
    async def initialize(self):
        self.ran, self.hooks, self.words, self.allows = [], [], "", lambda tool: True
        self.context.add_llm_tools(*(Tool(self, name) for name in NAMES))

    def note(self, hook, event, what=""):
        self.hooks.append((hook, what, event.get_extra("RUN_ID")))

    @filter.on_waiting_llm_request()
    async def waiting(self, event: AstrMessageEvent):
        self.note("waiting", event)

    @filter.on_llm_request()
    async def request(self, event: AstrMessageEvent, req):
        self.note("request", event)

    @filter.on_llm_response()
    async def response(self, event: AstrMessageEvent, answer):
        self.note("response", event)

    @filter.on_agent_begin()
    async def begin(self, event: AstrMessageEvent, run_context):
        self.note("begin", event)

    @filter.on_agent_done()
    async def done(self, event: AstrMessageEvent, run_context, answer):
        self.note("done", event)

    @filter.on_using_llm_tool()
    async def using(self, event: AstrMessageEvent, tool, arguments):
        self.note("using", event, tool.name)
        if not self.allows(tool.name):
            event.stop_event()

    @filter.on_llm_tool_respond()
    async def respond(self, event: AstrMessageEvent, tool, arguments, result):
        self.note("respond", event, tool.name)
"""


@asynccontextmanager
async def box(bot: Bot, *names: str) -> AsyncIterator[Any]:
    """A plugin with tools of these names for as long as the block lasts.

    Its Star has `ran`, names of the tools that ran, `hooks`, each hook that was called as (hook,
    tool or "", run id), `words`, what tools answer instead, and `allows`, which is asked by a
    tool's name before it runs and has the event stopped.
    """
    source = _SOURCE.replace("NAMES", repr(names)).replace("RUN_ID", RUN_ID)
    yield await bot.plugins.add("test_box", source)
    await bot.plugins.uninstall("test_box")
