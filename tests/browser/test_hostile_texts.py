"""Whatever a model, a user or a web page says stands on the page as it is written."""

import pytest
from playwright.async_api import Browser, expect

from astrbot_plugin_subagents.manager.testing import Fail, Say, Use, says
from support.browser import Witness
from support.hostile_texts import ALL, IMAGE, SCRIPT, TRAP
from support.page_stage import CHAT, BusyStage, PageStage, place, run_place
from support.page_views import views

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FOREIGN = """() => {
    const found = ["img", "iframe", "script", "object", "style", "[onerror]", "[srcdoc]"];
    found.push("a[href^='javascript']");
    const inside = found.map((each) => `#app ${each}`).join(", ");
    return [...document.querySelectorAll(inside)].map((element) => element.outerHTML);
}"""
WORDS = "(text) => document.body.textContent.includes(text)"


async def test_no_view_makes_markup_of_any_text(
    browser: Browser, busy_stage: BusyStage, witness: Witness
) -> None:
    async with busy_stage.stage.opened(browser, witness) as page:
        for shown in views(busy_stage.big):
            await page.goto(f"{busy_stage.stage.url}#/{shown.at}")
            await expect(page.locator(shown.selector).first).to_be_visible()

            assert await page.evaluate(FOREIGN) == [], shown.name
            assert await page.evaluate(TRAP) is None, shown.name
    assert witness.complaints == []


async def test_each_text_stands_in_a_transcript_as_it_is_written(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    work = [Use(tool="search", output=text, text=text) for text in ALL]
    stage.core.host.script = says(*work, Say(text="All read."))
    run_id = await stage.begin("Scout", SCRIPT)
    await stage.core.until_over(run_id)
    async with stage.opened(browser, witness, at=run_place(run_id)) as page:
        await expect(page.get_by_text("All read.")).to_be_visible()
        shown = await page.get_by_role("article").evaluate_all(
            "(articles) => articles.map((article) => article.textContent)"
        )

        # the task, a message and a result for each text, the answer
        assert len(shown) == 2 * len(ALL) + 2
        said = zip(ALL, shown[1:-1:2], strict=True)
        assert [text for text, message in said if text not in message] == []
        assert await page.evaluate(TRAP) is None
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert witness.complaints == []


async def test_names_notes_and_reasons_are_texts_too(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.core.host.script = says(Fail(code="x", message=IMAGE))
    await stage.agent("Scout", description=SCRIPT)
    await stage.core.until_over(await stage.begin("Scout", IMAGE))
    async with stage.opened(browser, witness, at=place("session", CHAT)) as page:
        await expect(page.get_by_text(SCRIPT)).to_be_visible()
        await page.goto(stage.url)
        await expect(page.get_by_text(IMAGE).first).to_be_visible()
        assert await page.evaluate(WORDS, IMAGE)
        assert await page.evaluate(FOREIGN) == []
        assert await page.evaluate(TRAP) is None
