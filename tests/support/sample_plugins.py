"""The sources of small AstrBot plugins that tests install beside ours."""

WEATHER = """
from astrbot.api import FunctionTool
from astrbot.api.event import AstrMessageEvent, MessageChain, filter
from astrbot.api.star import Star

class GetWeather(FunctionTool):
    def __init__(self, star):
        city = {"type": "string", "description": "The city."}
        super().__init__(
            name="get_weather",
            description="Tell the weather.",
            parameters={"type": "object", "properties": {"city": city}, "required": ["city"]},
        )
        self.star = star

    async def call(self, context, city):
        event = context.context.event
        self.star.asked.append((event.get_sender_id(), event.is_admin(), city))
        return f"It is sunny in {city}."

class Weather(Star):
    async def initialize(self):
        self.asked = []
        self.context.add_llm_tools(GetWeather(self))

    @filter.command("shout")
    async def shout(self, event: AstrMessageEvent):
        message = MessageChain().message("HEY")
        await self.context.send_message(event.unified_msg_origin, message)
        event.stop_event()
"""
"""A tool `get_weather(city)` that notes who asked, and a command whose reply is no answer.

The tool is a class: AstrBot 4.26.0 hands a decorated tool function its run context where it should
hand it the event.
"""

SLOW = WEATHER.replace("get_weather", "get_slowly").replace(
    "event = context.context.event",
    "import asyncio; await asyncio.Event().wait()",
)
"""The same, but its tool `get_slowly` never answers."""

LEAKY = """
import asyncio
import threading
from pathlib import Path

from astrbot.api.star import Star

class Leaky(Star):
    async def initialize(self):
        self.end = threading.Event()
        self.context.register_web_api("/leaky/state", self.state, ["GET"], "A leak.")
        self.file = Path(__file__).with_name("open.txt").open("w")
        self.task = asyncio.create_task(self.hang())
        self.thread = threading.Thread(target=self.end.wait, name="leaky")
        self.thread.start()

    async def state(self):
        return {}

    async def hang(self):
        await asyncio.Event().wait()

    def tidy(self):
        self.end.set()
        self.thread.join()
        self.task.cancel()
        self.file.close()
        apis = self.context.registered_web_apis
        apis[:] = [api for api in apis if api[0] != "/leaky/state"]
"""
"""Leaves a route, a file, a task and a thread behind until `tidy` is called."""
