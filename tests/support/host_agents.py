"""What the bot's owner configures for tests of static agents: our settings, AstrBot's, personas."""

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from .astrbot_host import Bot


@asynccontextmanager
async def plugin_config(bot: Bot, **config: Any) -> AsyncIterator[None]:
    """Reload the plugin with a configuration, for the rest of the test.

    The next test has it without one, see the fixture `bot`; a block in the middle of a test takes
    the configuration back itself.
    """
    await bot.plugins.reload(config=config)
    try:
        yield
    finally:
        bot.plugins.restore_later()


@asynccontextmanager
async def persona(bot: Bot, name: str, prompt: str, **more: Any) -> AsyncIterator[str]:
    """A persona of the bot for as long as the block lasts; the id is its name."""
    manager = bot.context.persona_manager
    await manager.create_persona(name, prompt, **more)
    try:
        yield name
    finally:
        await manager.delete_persona(name)


async def core_sub_agents(bot: Bot, *agents: dict[str, Any], **section: Any) -> None:
    """Configure AstrBot's own sub-agents, as its WebUI does; `restore` takes them back."""
    value = {"main_enable": True, "agents": list(agents), "router_system_prompt": "", **section}
    await bot.configure(extra={"subagent_orchestrator": value})
    await bot.context.subagent_orchestrator.reload_from_config(value)


async def use_persona(bot: Bot, name: str) -> None:
    """Let all chats run with a persona."""
    await bot.configure(
        extra={
            "provider_settings": {"default_personality": name},
            "agent_runner": {"config": {"persona": {"persona_id": name}}},
        }
    )


@asynccontextmanager
async def admins_only(*tools: str) -> AsyncIterator[None]:
    """Make tools of plugins tools for admins, as the WebUI does."""
    preferences = importlib.import_module("astrbot.core").sp
    wanted = {"_default": dict.fromkeys(tools, "admin")}
    await preferences.global_put("tool_permissions", wanted)
    try:
        yield
    finally:
        await preferences.global_put("tool_permissions", {})
