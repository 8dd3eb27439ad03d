"""Children of a real AstrBot for tests of the host adapter, and the tools that they call.

Nothing here imports AstrBot, nor the parts of the plugin that do, before the fixture booted it.
"""

import asyncio
import importlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from astrbot_plugin_subagents.manager.host import (
    AgentDriver,
    AgentOutcome,
    AgentRequest,
    Catalog,
    ToolScope,
)
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    Asker,
    Origin,
    OwnerId,
    RunId,
    SessionId,
    Turn,
    Usage,
)
from astrbot_plugin_subagents.manager.testing import Act, Fail, Hang, Say, Use
from standin.protocol import Usage as WireUsage

from .astrbot_host import Bot
from .recording import Recording
from .replies import Step, after, call, fail, say
from .script import Script, said

PIXEL = "".join(
    (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGA",
        "hKmMIQAAAABJRU5ErkJggg==",
    )
)
"""A picture of one point, in base64."""

TOOLS = f'''
import asyncio
import mcp.types
from astrbot.api import FunctionTool
from astrbot.api.event import AstrMessageEvent, MessageChain, filter
from astrbot.api.star import Star

class Tool(FunctionTool):
    def __init__(self, name, work):
        text = {{"type": "string", "description": "A text."}}
        schema = {{"type": "object", "properties": {{"text": text}}}}
        super().__init__(name=name, description="For tests.", parameters=schema)
        self.work = work

    async def call(self, context, text=""):
        return await self.work(context.context.event, text)

class Tools(Star):
    async def initialize(self):
        self.plays = []
        self.calls = []
        self.hooks = []
        self.running = 0
        self.changed = asyncio.Event()
        names = ("search", "draw", "admin_only", "tell", "meddle", "quiet")
        self.context.add_llm_tools(*(Tool(name, getattr(self, name)) for name in names))

    @filter.llm_tool(name="decorated")
    async def decorated(self, event: AstrMessageEvent, text: str):
        """Tell who asks.

        Args:
            text(string): A text.
        """
        return f"{{event.get_sender_id()}} says {{text}}"

    async def search(self, event, text):
        self.calls.append((event.get_sender_id(), event.role, text))
        output, fails, gate = self.plays.pop(0) if self.plays else (f"found {{text}}", False, None)
        self.running += 1
        self.changed.set()
        try:
            if gate is not None:
                await gate.wait()
        finally:
            self.running -= 1
        if fails:
            raise RuntimeError(output)
        return output

    async def draw(self, event, text):
        image = mcp.types.ImageContent(type="image", data="{PIXEL}", mimeType="image/png")
        words = mcp.types.TextContent(type="text", text="drawn")
        return mcp.types.CallToolResult(content=[words, image])

    async def admin_only(self, event, text):
        self.calls.append((event.get_sender_id(), event.role, text))
        return "done as " + event.role

    async def tell(self, event, text):
        await event.send(MessageChain().message(text))
        return "told"

    async def quiet(self, event, text):
        event.set_result(event.plain_result(text))

    async def meddle(self, event, text):
        event.set_result(event.plain_result("meddled"))
        event.set_extra("meddled", True)
        event.message_str = "meddled"
        event.message_obj.message_str = "meddled"
        if text == "stop":
            event.stop_event()
        return "meddled"

    @filter.on_using_llm_tool()
    async def before(self, event: AstrMessageEvent, tool, arguments):
        self.hooks.append(("before", tool.name, dict(arguments or {{}})))
        if "veto" in str(arguments):
            event.stop_event()

    @filter.on_llm_tool_respond()
    async def behind(self, event: AstrMessageEvent, tool, arguments, result):
        self.hooks.append(("behind", tool.name, result.content[0].text))
'''
"""A plugin whose tools a test controls through its Star."""


class ChildStage:
    """A real driver, and requests for its children.

    Attributes:
        bot: The running AstrBot.
        model: The script of its model.
        plugin: The Star of `TOOLS`.
        host: The driver.
        catalog: The catalog that goes with it.
    """

    def __init__(self, bot: Bot, model: Script, plugin: Any) -> None:
        self.bot = bot
        self.model = model
        self.plugin = plugin
        tools = _load("child_tools").ChildTools(bot.context)
        self.host: AgentDriver = _load("driver").AstrBotDriver(bot.context, tools)
        self.catalog: Catalog = _load("catalog").AstrBotCatalog(
            bot.context, tools, files=bot.root.data / "test_files"
        )

    @property
    def session(self) -> SessionId:
        """The chat of the test."""
        return SessionId(self.bot.umo())

    async def driver(self, *acts: Act) -> AgentDriver:
        """Plan what the child `scout` does; see `support.driver_contract`."""
        for act in acts:
            if isinstance(act, Use):
                self.plugin.plays.append((act.output, act.is_error, act.gate))
        self.model.child("scout", *map(_step, acts))
        return self.host

    def request(self, **changes: Any) -> AgentRequest:
        """A request for the child `scout`, which has the tool `search` and no turn."""
        request = AgentRequest(
            run_id=RunId("run1"),
            session=self.session,
            agent=AgentName("scout"),
            system_prompt="You are the sub-agent scout.",
            prompt="the task",
            tools=ToolScope(assigned=("search",)),
            origin=Origin(sender_id="alice", sender_name="Alice"),
        )
        return replace(request, **changes)

    async def drive(self, *steps: Step, **changes: Any) -> tuple[AgentOutcome, Recording]:
        """Let the child run, with the model answering by these steps."""
        self.model.child("scout", *steps)
        seen = Recording()
        return await self.host.drive(self.request(**changes), seen), seen

    @asynccontextmanager
    async def turn(self, *, sender: str = "alice", **how: Any) -> AsyncIterator[Turn]:
        """A turn of a user that lasts as long as the block."""
        gate = asyncio.Event()
        text = f"a turn of {sender}"
        self.model.role(f"turn of {sender}", said(text), after(gate, say("the answer")))
        pending = self.bot.post(text, sender=sender, **how)
        await self.model.reached(f"turn of {sender}")
        request = pending.event.get_extra("provider_request")
        yield Turn(
            turn_id="turn1",
            session=SessionId(pending.event.unified_msg_origin),
            asker=Asker(owner=OwnerId(sender)),
            handle=_load("turn_handle").TurnHandle(
                event=pending.event, main_tools=request.func_tool, provider_request=request
            ),
        )
        gate.set()
        await pending.done()


def handle_of(turn: Turn) -> Any:
    """The host's own object for a turn, a `TurnHandle`."""
    return turn.handle


def _step(act: Act) -> Step:
    match act:
        case Say():
            return say(act.text, usage=_wire(act.usage))
        case Use():
            reply = call(act.tool, json.loads(act.arguments), text=act.text)
            return replace(reply, usage=_wire(act.usage))
        case Hang():
            return after(act.gate, say("late"))
        case Fail():
            return fail(401, act.message)


def _wire(usage: Usage) -> WireUsage:
    return WireUsage(
        prompt_tokens=usage.input + usage.cached,
        completion_tokens=usage.output,
        cached_tokens=usage.cached,
    )


def _load(module: str) -> Any:
    return importlib.import_module(f"astrbot_plugin_subagents.plugin.{module}")
