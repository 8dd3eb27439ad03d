"""The page without a mouse: where the focus goes, and that it comes back."""

import pytest
from playwright.async_api import Browser, Page, expect

from support.browser import Witness
from support.page_stage import CHAT, BusyStage, PageStage, place

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def press(page: Page, *keys: str) -> None:
    """Press keys one after another."""
    for key in keys:
        await page.keyboard.press(key)


async def test_the_first_key_leads_past_the_navigation(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness) as page:
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await press(page, "Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await press(page, "Enter")
        await expect(page.get_by_role("main")).to_be_focused()


async def test_a_sub_agent_is_made_with_keys_alone(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=place("session", CHAT)) as page:
        opener = page.get_by_role("button", name="New sub-agent")
        await opener.focus()
        await press(page, "Enter")
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
        await page.keyboard.type("Writer")
        await press(page, "Tab", "Tab")
        await page.keyboard.type("You write.")
        await press(page, "Escape")
        question = page.get_by_role("alertdialog", name="Leave without saving?")
        await expect(question).to_be_visible()
        await press(page, "Escape")
        await expect(question).to_be_hidden()
        await dialog.get_by_role("button", name="Make it").focus()
        await press(page, "Enter")

        await expect(dialog).to_be_hidden()
        await expect(page.get_by_role("heading", name="Writer")).to_be_visible()
        await expect(opener).to_be_focused()


async def test_a_dialog_keeps_the_focus_to_itself(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=place("session", CHAT)) as page:
        await page.get_by_role("button", name="Edit: Scout").click()
        await expect(page.get_by_role("dialog").get_by_label("Instructions")).to_be_visible()
        outside = "document.activeElement.closest('dialog, body')?.tagName"
        seen = set()
        for _ in range(25):
            await press(page, "Tab")
            seen.add(await page.evaluate(f"document.hasFocus() ? {outside} : 'BROWSER'"))

        # Behind the last field comes the browser's own bar, never what lies below the dialog.
        assert seen <= {"DIALOG", "BODY", "BROWSER"}
        assert "DIALOG" in seen
        behind = "document.activeElement.matches('main *:not(dialog *)')"
        assert not await page.evaluate(behind)


async def test_a_long_list_is_walked_with_the_arrows(
    browser: Browser, busy_stage: BusyStage, witness: Witness
) -> None:
    async with busy_stage.stage.opened(browser, witness, at="runs") as page:
        await page.locator("[aria-posinset='1'] a").focus()
        await press(page, "ArrowDown", "ArrowDown")
        await expect(page.locator("[aria-posinset='3'] a")).to_be_focused()
        await press(page, "End")
        await expect(page.locator("[aria-posinset='10000'] a")).to_be_focused()
        await press(page, "Home")
        await expect(page.locator("[aria-posinset='1'] a")).to_be_focused()
        await press(page, "Enter")
        await expect(page.get_by_role("heading", name="Transcript")).to_be_visible()


async def test_tabs_are_changed_with_the_arrows(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=place("session", CHAT)) as page:
        await page.get_by_role("tab", name="Sub-agents").focus()
        await press(page, "ArrowRight")
        timeline = page.get_by_role("tab", name="Timeline")
        await expect(timeline).to_be_focused()
        await expect(timeline).to_have_attribute("aria-selected", "true")
