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

_TOOL_PLUGIN = f"""
from astrbot.api import FunctionTool
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


async def bare_run(bot: Bot, event: Any, task: str) -> str:
    """Drive AstrBot's own runner directly: the least that any plugin could cost.

    Args:
        bot: The running AstrBot.
        event: The event of any earlier turn, for the tools.
        task: What the child is to do.
    """
    runners = importlib.import_module("astrbot.core.agent.runners.tool_loop_agent_runner")
    executor = importlib.import_module("astrbot.core.astr_agent_tool_exec")
    contexts = importlib.import_module("astrbot.core.astr_agent_context")
    hooks = importlib.import_module("astrbot.core.agent.hooks")
    entities = importlib.import_module("astrbot.core.provider.entities")
    tools = importlib.import_module("astrbot.core.agent.tool")
    lookup = bot.context.get_llm_tool_manager().get_func(LOOKUP)
    runner = runners.ToolLoopAgentRunner()
    await runner.reset(
        provider=bot.context.get_provider_by_id(PROVIDER_ID),
        request=entities.ProviderRequest(
            prompt=task, system_prompt=CHILD_MARK, func_tool=tools.ToolSet([lookup])
        ),
        run_context=contexts.AgentContextWrapper(
            context=contexts.AstrAgentContext(context=bot.context, event=event),
            tool_call_timeout=120,
        ),
        tool_executor=executor.FunctionToolExecutor(),
        agent_hooks=hooks.BaseAgentRunHooks(),
        streaming=False,
    )
    async for _ in runner.step_until_done(30):
        pass
    return str(runner.get_final_llm_resp().completion_text)
