"""Every view in both themes, in all languages, on a wide and on a narrow screen."""

import pytest
from playwright.async_api import Browser, expect

from support.axe import barriers
from support.browser import Look, Witness
from support.page_stage import TOKEN, BusyStage, PageStage
from support.page_views import views
from support.screenshots import keep

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WIDE = Look(theme="light", locale="en-US")
NARROW = Look(theme="dark", locale="ru-RU", width=375, height=740)
BROAD = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("look", [WIDE, NARROW], ids=["wide light", "narrow dark"])
async def test_no_view_has_barriers_and_each_fits_its_screen(
    browser: Browser, busy_stage: BusyStage, witness: Witness, look: Look
) -> None:
    found: dict[str, list[str]] = {}
    async with busy_stage.stage.opened(browser, witness, look) as page:
        for shown in views(busy_stage.big):
            await page.goto(f"{busy_stage.stage.url}#/{shown.at}")
            await expect(page.locator(shown.selector).first).to_be_visible()
            await expect(page.get_by_role("heading", level=1)).to_have_count(1)
            await keep(page, f"{shown.name} {look.theme} {look.width}", secrets=[TOKEN])
            found[shown.name] = await barriers(page.main_frame)
            if await page.evaluate(BROAD) > 0:
                found[shown.name].append("wider than the screen")
        language = await page.evaluate("document.documentElement.lang")

    assert {name: all_found for name, all_found in found.items() if all_found} == {}
    assert (language, len(found)) == (look.locale, 11)
    assert witness.complaints == []
    assert witness.hosts() == {busy_stage.stage.url.split("/")[2]}


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_login_has_no_barriers(
    browser: Browser, stage: PageStage, witness: Witness, theme: str
) -> None:
    look = Look(theme="dark" if theme == "dark" else "light", locale="zh-CN")
    async with stage.opened(browser, witness, look, signed_in=False) as page:
        await expect(page.locator("input[type=password]")).to_be_visible()

        assert await barriers(page.main_frame) == []


async def test_language_and_theme_are_chosen_and_remembered(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness, WIDE) as page:
        await page.get_by_label("Language").select_option("zh-CN")
        await expect(page.get_by_role("heading", level=1, name="总览")).to_be_visible()
        await page.get_by_label("语言").select_option("ru-RU")
        await expect(page.get_by_role("heading", level=1, name="Обзор")).to_be_visible()
        theme = page.locator("html")
        await expect(theme).to_have_attribute("data-theme", "light")
        await page.get_by_role("button", name="Тема").click()
        await page.get_by_role("button", name="Тема").click()
        await expect(theme).to_have_attribute("data-theme", "dark")

        await page.reload()
        await expect(page.get_by_role("heading", level=1, name="Обзор")).to_be_visible()
        await expect(theme).to_have_attribute("data-theme", "dark")


async def test_the_system_decides_on_the_theme_of_who_has_chosen_none(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness, WIDE) as page:
        await expect(page.locator("html")).to_have_attribute("data-theme", "light")
        await page.emulate_media(color_scheme="dark")

        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
