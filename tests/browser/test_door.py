"""Signing in at the plugin's own server, and what nobody gets before."""

import logging

import aiohttp
import pytest
from playwright.async_api import Browser, expect

from support.browser import Witness, without
from support.page_stage import TOKEN, PageStage
from support.screenshots import keep

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_who_has_the_token_gets_in_and_out_again_and_it_shows_nowhere(
    browser: Browser, stage: PageStage, witness: Witness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with stage.opened(browser, witness, signed_in=False) as page:
        await page.get_by_label("Token").fill("another one")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_have_text("That is not the right token.")
        await keep(page, "login", secrets=[TOKEN])

        await page.get_by_label("Token").fill(TOKEN)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()

        await page.reload()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        await keep(page, "overview of nothing", secrets=[TOKEN])

        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Token")).to_be_visible()
        assert "token" not in await page.evaluate("JSON.stringify(localStorage)")

    assert TOKEN not in " ".join(witness.urls)
    assert TOKEN not in caplog.text
    assert witness.hosts() == {stage.url.split("/")[2]}
    assert without(witness.complaints, "status of 401") == []


async def test_who_is_signed_out_by_the_server_is_asked_to_sign_in(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness) as page:
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        await page.context.clear_cookies()
        # Not by a click: what reads by itself may have noticed before.
        await page.evaluate("location.hash = '#/sessions'")

        await expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize(
    "path", ["overview", "settings", "events", "openapi", "session?session=chat"]
)
async def test_without_signing_in_there_is_nothing_to_read(stage: PageStage, path: str) -> None:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{stage.url}api/{path}") as answer,
    ):
        code = (await answer.json())["error"]["code"]

    assert (answer.status, code) == (401, "not_signed_in")
