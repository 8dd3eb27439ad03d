"""Fixtures for tests with a real AstrBot: one for the whole session, and a model by script.

A folder's conftest imports them all and says by a fixture `with_plugin` whether its AstrBot has
this repository's plugin. AstrBot is imported when the fixture `astrbot` boots it and never before,
since it reads its root folder then. A test module marks itself:
`pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]`.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from . import sample_plugins
from .astrbot_host import Bot, boot
from .astrbot_root import AstrBotRoot
from .host_agents import plugin_config
from .leftovers import close_leftovers
from .script import Script
from .scripted_model import ScriptedModel

# Warnings in AstrBot's own code, and those that Python gives when it first compiles some package
# that AstrBot needs. Those in this plugin's code stay errors.
_FOREIGN_WARNINGS = (
    "ignore::DeprecationWarning:astrbot[.]",
    "ignore:invalid escape sequence:SyntaxWarning:.*site-packages",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let foreign warnings pass in tests with an AstrBot, and only there."""
    for item in items:
        if item.get_closest_marker("host"):
            for warning in _FOREIGN_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model_server() -> AsyncIterator[ScriptedModel]:
    """Serve the session's scripted model."""
    model = ScriptedModel()
    async with model.server:
        yield model


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def astrbot(
    tmp_path_factory: pytest.TempPathFactory, model_server: ScriptedModel, with_plugin: bool
) -> AsyncIterator[Bot]:
    """Run the session's AstrBot."""
    root = AstrBotRoot(
        path=tmp_path_factory.mktemp("astrbot"), model_url=model_server.server.base_url
    )
    root.write()
    if with_plugin:
        root.install_plugin()
    bot = await boot(root)
    yield bot
    await bot.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def model(model_server: ScriptedModel) -> AsyncIterator[Script]:
    """Give the test a model whose script is still empty; nothing unplanned may be asked."""
    model_server.script = script = Script()
    yield script
    await script.idle()
    script.check()


@pytest_asyncio.fixture(loop_scope="session")
async def bot(
    astrbot: Bot, model: Script, with_plugin: bool, request: pytest.FixtureRequest
) -> AsyncIterator[Bot]:
    """Give the test the AstrBot, with a chat of its own and the settings it booted with."""
    if astrbot.booted_with_plugin is not with_plugin:
        pytest.fail("this AstrBot booted for other tests: run this folder by itself")
    # A reload takes a second: it is spared where the test begins with another one.
    if plugin_config.__name__ not in request.function.__code__.co_names:
        await astrbot.plugins.restore()
    astrbot.session = re.sub(r"\W+", "_", request.node.name)
    astrbot.errors.clear()
    yield astrbot
    await astrbot.restore()
    if with_plugin:
        close_leftovers(astrbot.root.data)


@pytest_asyncio.fixture(loop_scope="session")
async def weather(bot: Bot) -> AsyncIterator[Any]:
    """Give the test the Star of a small plugin with a tool; see `sample_plugins.WEATHER`."""
    yield await bot.plugins.add("test_weather", sample_plugins.WEATHER)
    await bot.plugins.uninstall("test_weather")
