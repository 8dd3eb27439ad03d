"""Who gets to the page in AstrBot's WebUI, and how."""

import aiohttp
import pytest
from playwright.async_api import Browser, expect

from support.astrbot_root import PASSWORD, PLUGIN_NAME, USER
from support.browser import Look, Witness
from support.webui import WebUi, view_of

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_who_signs_in_finds_the_page_in_the_sidebar(
    browser: Browser, webui: WebUi, witness: Witness
) -> None:
    async with webui.opened(browser, witness, Look(), signed_in=False) as page:
        await page.goto(webui.url)
        await page.get_by_role("textbox", name="Username").fill(USER)
        await page.locator("input[type=password]").fill(PASSWORD)
        await page.get_by_role("button", name="Login").click()
        await page.get_by_role("link", name="Sub-agents").click()
        frame = await view_of(page)

        await expect(frame.get_by_role("heading", level=1)).to_be_visible()


@pytest.mark.parametrize("path", ["overview", "settings", "events", "openapi"])
async def test_who_has_not_signed_in_gets_nothing(webui: WebUi, path: str) -> None:
    url = f"{webui.url}/api/v1/plugins/extensions/{PLUGIN_NAME}/{path}"

    async with aiohttp.ClientSession() as client, client.get(url) as response:
        assert response.status == 401
