"""The AstrBot of the benchmark: in this process, with this plugin and AstrBot's own hand-off.

It reuses the harness of the host tests, so that what is measured is what is tested.
"""

import importlib
from pathlib import Path
from typing import Any

from model import CHILD_MARK, LOOKUP

from support.astrbot_host import Bot, boot
from support.astrbot_root import PROVIDER_ID, AstrBotRoot, HostSettings

STATIC = "bench_static"
"""AstrBot's own sub-agent."""

STAMPS = "bench_stamps"
"""The extra of a turn's event under which the main agent's tool calls are."""

_TOOL_PLUGIN = f"""
import time

from astrbot.api import FunctionTool
from astrbot.api.event import filter
from astrbot.api.star import Star

class Lookup(FunctionTool):
    def __init__(self):
        super().__init__(
            name="{LOOKUP}",
            description="Look a value up.",
            parameters={{"type": "object", "properties": {{"key": {{"type": "string"}}}}}},
        )

    async def call(self, context, **arguments):
        return "a value"

class BenchTools(Star):
    async def initialize(self):
        self.context.add_llm_tools(Lookup())

    @filter.on_using_llm_tool()
    async def when_a_tool_begins(self, event, tool, arguments):
        self.stamp(event, tool, "")

    @filter.on_llm_tool_respond()
    async def when_a_tool_has_ended(self, event, tool, arguments, result):
        if tool.name != "{LOOKUP}":
            self.stamp(event, tool, "".join(part.text for part in result.content))

    def stamp(self, event, tool, text):
        # children's events have their turn's extras
        if tool.name != "{LOOKUP}":
            stamps = event.get_extra("{STAMPS}", [])
            event.set_extra("{STAMPS}", stamps)
            stamps.append((time.perf_counter(), time.process_time(), text))
"""


async def start(folder: Path, model_url: str, plugin_config: dict[str, Any]) -> Bot:
    """Boot an AstrBot in a new folder."""
    own = {
        "name": STATIC,
        "enabled": True,
        "system_prompt": CHILD_MARK,
        "public_description": "Measures.",
        "provider_id": PROVIDER_ID,
        "tools": [LOOKUP],
    }
    extra = {"subagent_orchestrator": {"main_enable": True, "agents": [own]}}
    root = AstrBotRoot(path=folder, model_url=model_url, settings=HostSettings(extra=extra))
    root.write()
    root.install_plugin(plugin_config)
    root.add_plugin("bench_tools", _TOOL_PLUGIN)
    bot = await boot(root)
    quiet()
    return bot


def quiet() -> None:
    """Let AstrBot log errors only, so that the writing of logs is not what is measured."""
    loguru = importlib.import_module("loguru")
    loguru.logger.disable("astrbot")
