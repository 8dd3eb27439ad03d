"""The WebUI of a real AstrBot in the browser: signing in, and the plugin's page inside of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from playwright.async_api import Browser, Frame, Page, Route

from .astrbot_process import AstrBotProcess
from .astrbot_root import PASSWORD, PLUGIN_NAME, USER, AstrBotRoot
from .browser import Look, Witness, opened

PAGE = "subagents"

_VIEW = "iframe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The plugin's page as somebody sees it who has signed in."""

    page: Page
    """AstrBot's WebUI."""
    frame: Frame
    """The plugin's page, in its sandbox."""


class WebUi:
    """One AstrBot's WebUI."""

    def __init__(self, process: AstrBotProcess, root: AstrBotRoot) -> None:
        self.process = process
        self._root = root
        self.token = ""
        """Of somebody who has signed in."""

    @property
    def url(self) -> str:
        """Its address."""
        return self.process.url

    @property
    def config_file(self) -> Path:
        """Where AstrBot keeps the plugin's configuration."""
        return self._root.data / "config" / f"{PLUGIN_NAME}_config.json"

    async def switch_plugin(self, *, on: bool) -> None:
        """Switch the plugin off or on, as AstrBot's list of plugins does."""
        path = f"api/plugin/{'on' if on else 'off'}"
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as client,
            client.post(f"{self.url}/{path}", json={"name": PLUGIN_NAME}) as response,
        ):
            assert (await response.json())["status"] == "ok"

    async def sign_in(self) -> None:
        """Get a token as the WebUI does, so that not every test has to fill the form."""
        body = {"username": USER, "password": PASSWORD}
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{self.url}/api/v1/auth/login", json=body) as response,
        ):
            self.token = str((await response.json())["data"]["token"])

    @asynccontextmanager
    async def opened(
        self, browser: Browser, witness: Witness, look: Look, *, signed_in: bool = True
    ) -> AsyncIterator[Page]:
        """A page in a fresh context whose WebUI has a theme, a language, and a user or none."""
        async with opened(browser, witness, look) as page:
            # Of the internet AstrBot's own pages want news; they shall do without.
            await page.context.route(lambda url: not url.startswith(self.url), _refuse)
            kept = {
                "themeMode": look.theme,
                "uiTheme": "PurpleThemeDark" if look.theme == "dark" else "PurpleTheme",
                "astrbot-locale": look.locale,
            }
            if signed_in:
                kept |= {"token": self.token, "user": USER}
            await page.add_init_script(_keep(kept))
            yield page

    @asynccontextmanager
    async def plugin_page(
        self, browser: Browser, witness: Witness, look: Look
    ) -> AsyncIterator[Shown]:
        """The plugin's page, opened by its address."""
        async with self.opened(browser, witness, look) as page:
            await page.goto(f"{self.url}/#/plugin-page/{PLUGIN_NAME}/{PAGE}")
            yield Shown(page=page, frame=await view_of(page))


async def view_of(page: Page) -> Frame:
    """The frame in which AstrBot shows a plugin's page."""
    handle = await page.wait_for_selector(_VIEW)
    frame = await handle.content_frame()
    assert frame is not None
    await frame.wait_for_load_state()
    return frame


def _keep(kept: dict[str, str]) -> str:
    # The sandbox of the plugin's page has no storage; there is nothing to set there.
    return (
        f"try {{ Object.assign(localStorage, {json.dumps(kept)}) }}"
        " catch (error) { if (error.name !== 'SecurityError') throw error }"
    )


async def _refuse(route: Route) -> None:
    await route.abort()
