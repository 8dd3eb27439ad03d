"""Fixtures for tests of the page: a browser, the page by itself, and a real AstrBot's WebUI.

The folder's conftest imports them.
"""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.testing import Hang, says

from .astrbot_process import running
from .astrbot_root import AstrBotRoot
from .big_store import make_big_store
from .browser import Witness, chromium
from .page_stage import BusyStage, PageStage, staged
from .scripted_model import ScriptedModel
from .webui import WebUi

FIGURES = pytest.StashKey[list[str]]()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Run the session's browser."""
    async with chromium() as running_browser:
        yield running_browser


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Give the test a way to tell figures, which are shown when all tests have run."""
    figures: list[str] = request.config.stash.setdefault(FIGURES, [])
    return figures.append


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show the figures."""
    if figures := config.stash.get(FIGURES, []):
        terminalreporter.section("figures of the page")
    for line in figures:
        terminalreporter.write_line(line)


@pytest.fixture
def witness() -> Witness:
    """See what the test's pages do."""
    return Witness()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def webui(
    tmp_path_factory: pytest.TempPathFactory, model_server: ScriptedModel
) -> AsyncIterator[WebUi]:
    """Run an AstrBot with the plugin as a process, the session's only one."""
    root = AstrBotRoot(
        path=tmp_path_factory.mktemp("webui"),
        model_url=model_server.server.base_url,
        chat_adapter=False,
    )
    root.write()
    root.install_plugin()
    async with running(root) as process:
        ui = WebUi(process, root)
        await ui.sign_in()
        yield ui


@pytest_asyncio.fixture(loop_scope="session")
async def stage(tmp_path: Path) -> AsyncIterator[PageStage]:
    """Give the test the page by itself, with an empty core behind it."""
    async with staged(tmp_path) as begun:
        yield begun


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def busy_stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BusyStage]:
    """Show the page of a bot after busy months; tests may only look at it."""
    folder = tmp_path_factory.mktemp("busy")
    big = await make_big_store(folder / "store.db", now=datetime.now(UTC))
    # Runs that the store has as running go on for as long as somebody looks.
    async with staged(folder, script=says(Hang()), store=SqlStore(big.path)) as begun:
        yield BusyStage(stage=begun, big=big)
