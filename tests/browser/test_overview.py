"""The overview: what is at work in all chats, live, and what can be done right there."""

import pytest
from playwright.async_api import Browser, expect

from astrbot_plugin_subagents.manager.models import RunState
from astrbot_plugin_subagents.manager.testing import Fail, Hang, Say, Use, says
from support.browser import Witness
from support.page_stage import CHAT, PageStage

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_task_is_seen_from_its_start_to_its_end_without_a_reload(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    model = Hang()
    stage.core.host.script = says(model, Say(text="Found it."))
    async with stage.opened(browser, witness) as page:
        await expect(page.get_by_text("Nothing is running")).to_be_visible()

        run_id = await stage.begin("Scout", "Look around.")
        row = page.get_by_role("listitem").filter(has_text="Look around.")
        await expect(row).to_contain_text("Running")
        await expect(row.get_by_title(CHAT)).to_be_visible()

        model.gate.set()
        await stage.core.until_over(run_id)
        await expect(page.get_by_text("Nothing is running")).to_be_visible()
        finished = page.get_by_text("Finished today").locator("..")
        await expect(finished).to_contain_text("1")

    assert witness.complaints == []


async def test_a_task_is_stopped_after_a_question_whether_that_is_meant(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.core.host.script = says(Hang())
    run_id = await stage.begin("Scout", "Look around.")
    async with stage.opened(browser, witness) as page:
        await page.get_by_role("button", name="Stop: Scout").click()
        question = page.get_by_role("alertdialog", name="Stop this task?")
        await question.get_by_role("button", name="Cancel").click()
        await expect(question).to_be_hidden()
        assert (await stage.core.run(run_id, CHAT)).state is RunState.RUNNING

        await page.get_by_role("button", name="Stop: Scout").click()
        await question.get_by_role("button", name="Stop").click()

        await expect(page.get_by_text("The task was stopped.")).to_be_visible()
        await expect(page.get_by_text("Nothing is running")).to_be_visible()
    assert (await stage.core.run(run_id, CHAT)).state is RunState.CANCELLED


async def test_a_question_is_answered_and_the_task_goes_on(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    ask = Use(tool="ask_question", arguments='{"question": "Which <b>door</b>?"}')
    stage.core.host.script = says(ask, Say(text="The left one, then."))
    run_id = await stage.begin("Scout", "Look around.")
    async with stage.opened(browser, witness) as page:
        row = page.get_by_role("listitem").filter(has_text="Look around.")
        await expect(row).to_contain_text("Which <b>door</b>?")
        await row.get_by_role("button", name="Answer").click()
        dialog = page.get_by_role("dialog", name="Answer the question of Scout")
        await dialog.get_by_label("Your answer").fill("The left one.")
        await dialog.get_by_role("button", name="Answer").click()
        await expect(dialog).to_be_hidden()

        await stage.core.until_over(run_id)
        await expect(page.get_by_text("Nothing is running")).to_be_visible()
    assert (await stage.core.run(run_id, CHAT)).last_text == "The left one, then."


async def test_what_failed_is_there_with_its_reason(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.core.host.script = says(Fail(message="the model is on holiday"))
    await stage.core.until_over(await stage.begin("Scout", "Look around."))
    async with stage.opened(browser, witness) as page:
        row = page.get_by_role("listitem").filter(has_text="Look around.")

        await expect(row).to_contain_text("Failed")
        await expect(row).to_contain_text("the model is on holiday")
