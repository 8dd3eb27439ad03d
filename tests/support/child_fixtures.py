"""Fixtures for tests of the host adapter: a real driver in an AstrBot without the plugin itself."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from .astrbot_host import Bot
from .child_stage import TOOLS, ChildStage
from .script import Script


@pytest_asyncio.fixture(loop_scope="session")
async def tools_plugin(bot: Bot) -> AsyncIterator[Any]:
    """Give the test the Star of a plugin with the tools in `child_stage.TOOLS`."""
    yield await bot.plugins.add("test_tools", TOOLS)
    await bot.plugins.uninstall("test_tools")


@pytest.fixture
def stage(bot: Bot, model: Script, tools_plugin: Any) -> ChildStage:
    """Give the test a real driver and a scripted model."""
    return ChildStage(bot, model, tools_plugin)
