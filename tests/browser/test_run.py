"""One task: its transcript as it grows, and what can be done about it."""

import pytest
from playwright.async_api import Browser, expect

from astrbot_plugin_subagents.manager.models import RunState
from astrbot_plugin_subagents.manager.testing import Fail, Hang, Say, Use, says
from support.browser import Witness
from support.page_stage import CHAT, PageStage, run_place

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_transcript_grows_while_one_reads_along(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    first, second = Hang(), Hang()
    use = Use(tool="search", arguments='{"query": "lake"}', output="a <b>lake</b>", text="I look.")
    stage.core.host.script = says(first, use, second, Say(text="There is a lake."))
    run_id = await stage.begin("Scout", "Look around.")
    async with stage.opened(browser, witness, at=run_place(run_id)) as page:
        await expect(page.get_by_text("Nothing was said yet")).to_be_visible()

        first.gate.set()
        await second.reached.wait()
        transcript = page.get_by_role("feed", name="Transcript")
        await expect(transcript).to_contain_text("Look around.")
        await expect(transcript).to_contain_text("I look.")
        await expect(transcript.get_by_text("search").first).to_be_visible()

        second.gate.set()
        await stage.core.until_over(run_id)
        await expect(transcript).to_contain_text("There is a lake.")
        await expect(page.locator("main").get_by_text("Done", exact=True)).to_be_visible()
        facts = page.get_by_role("table").get_by_role("row", name="search")
        await expect(facts).to_contain_text("1")

    assert witness.complaints == []


async def test_a_running_task_is_told_something_that_it_reads_before_its_next_step(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    model = Hang()
    stage.core.host.script = says(model, Say(text="I went left."))
    run_id = await stage.begin("Scout", "Look around.")
    async with stage.opened(browser, witness, at=run_place(run_id)) as page:
        await page.get_by_role("button", name="Tell it something").click()
        dialog = page.get_by_role("dialog", name="Tell Scout something")
        await dialog.get_by_label("What it is to know or do").fill("Go left!")
        await dialog.get_by_role("button", name="Send").click()
        await expect(dialog).to_be_hidden()

    model.gate.set()
    await stage.core.until_over(run_id)
    assert "Go left!" in stage.core.host.plans[1].instruction


async def test_a_question_is_answered_where_the_transcript_is(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    ask = Use(tool="ask_question", arguments='{"question": "Which door?"}')
    stage.core.host.script = says(ask, Say(text="The left one, then."))
    run_id = await stage.begin("Scout", "Look around.")
    async with stage.opened(browser, witness, at=run_place(run_id)) as page:
        await page.get_by_label("Your answer").fill("The left one.")
        await page.get_by_role("button", name="Answer").click()

        await stage.core.until_over(run_id)
        await expect(page.get_by_label("Your answer")).to_be_hidden()
        await expect(page.get_by_role("feed", name="Transcript")).to_contain_text("The left one.")


async def test_a_running_task_is_stopped(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.core.host.script = says(Hang())
    run_id = await stage.begin("Scout", "Look around.")
    async with stage.opened(browser, witness, at=run_place(run_id)) as page:
        await page.get_by_role("button", name="Stop", exact=True).click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Stop").click()

        await expect(page.locator("main").get_by_text("Stopped", exact=True)).to_be_visible()
    assert (await stage.core.run(run_id, CHAT)).state is RunState.CANCELLED


async def test_a_task_that_failed_is_started_again_and_the_new_one_is_shown(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.core.host.script = says(Fail(message="the model is on holiday"))
    failed = await stage.begin("Scout", "Look around.")
    await stage.core.until_over(failed)
    stage.core.host.script = says(Say(text="Back from holiday."))
    async with stage.opened(browser, witness, at=run_place(failed)) as page:
        await expect(page.get_by_text("the model is on holiday").first).to_be_visible()
        await page.get_by_role("button", name="Start again").click()

        transcript = page.get_by_role("feed", name="Transcript")
        await expect(transcript).to_contain_text("Back from holiday.")
        assert not page.url.endswith(failed)


async def test_a_task_that_is_not_there_is_told_as_such(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=run_place("gone")) as page:
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_role("button", name="Try again")).to_be_visible()
