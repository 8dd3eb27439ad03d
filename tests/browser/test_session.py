"""One chat: its sub-agents, its notes and its switches, changed from the page."""

import pytest
from playwright.async_api import Browser, Page, expect

from astrbot_plugin_subagents.manager.testing import Hang, Say, says
from support.browser import Witness
from support.page_stage import CHAT, PageStage, place

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

VIEW = place("session", CHAT)


async def names(stage: PageStage) -> list[str]:
    """The sub-agents of the chat, as the core has them."""
    return [str(config.name) for config in (await stage.core.open(CHAT)).agents()]


async def choose(page: Page, group: str, choice: str) -> None:
    """Choose one of a few things that stand side by side."""
    await page.get_by_role("radiogroup", name=group).get_by_label(choice, exact=True).check()


async def test_a_sub_agent_is_made_and_what_is_wrong_is_said_at_the_field(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=VIEW) as page:
        await page.get_by_role("button", name="New sub-agent").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name", exact=True).fill("no name at all")
        await dialog.get_by_label("Instructions").fill("You write.")
        await choose(page, "Tools", "Chosen")
        await dialog.get_by_role("checkbox", name="search").check()
        await dialog.get_by_role("button", name="Make it").click()
        await expect(dialog.get_by_label("Name", exact=True)).to_have_attribute(
            "aria-invalid", "true"
        )
        assert await names(stage) == ["Scout"]

        await dialog.get_by_label("Name", exact=True).fill("Writer")
        await dialog.get_by_role("button", name="Make it").click()

        await expect(dialog).to_be_hidden()
        await expect(page.get_by_role("heading", name="Writer")).to_be_visible()
    made = (await stage.core.open(CHAT)).agents()[-1]
    assert (made.name, made.system_prompt, made.tools) == ("Writer", "You write.", ("search",))


async def test_a_sub_agent_is_changed_protected_reset_and_removed(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    await stage.core.until_over(await stage.begin("Scout", "Look around."))
    async with stage.opened(browser, witness, at=VIEW) as page:
        await page.get_by_role("button", name="Edit: Scout").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("What it is for").fill("Sees far.")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Sees far.")).to_be_visible()

        await page.get_by_role("button", name="Protect from removal: Scout").click()
        await expect(page.get_by_role("button", name="Remove: Scout")).to_be_disabled()
        await page.get_by_role("button", name="No longer protect: Scout").click()

        await page.get_by_role("button", name="Clear memory: Scout").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Clear memory").click()
        await expect(page.get_by_text("Remembers nothing")).to_be_visible()

        await page.get_by_role("button", name="Remove: Scout").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
        await expect(page.get_by_role("heading", name="Scout")).to_be_hidden()
    assert await names(stage) == []
    assert witness.complaints == []


async def test_what_one_remembers_can_be_read(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.core.host.script = says(Say(text="There is a *lake*."))
    await stage.core.until_over(await stage.begin("Scout", "Look around."))
    async with stage.opened(browser, witness, at=VIEW) as page:
        await page.get_by_role("button", name="Remembers 2 messages").click()

        await expect(page.get_by_role("dialog")).to_contain_text("Look around.")
        await expect(page.get_by_role("dialog")).to_contain_text("There is a *lake*.")


async def test_one_at_work_is_seen_live_and_not_to_be_changed(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    model = Hang()
    stage.core.host.script = says(model, Say(text="Done."))
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=VIEW) as page:
        card = page.get_by_role("listitem").filter(has_text="Scout")
        await expect(card).to_contain_text("Idle")
        run_id = await stage.begin("Scout", "Look around.")
        await expect(card).to_contain_text("Running")
        await expect(page.get_by_role("button", name="Remove: Scout")).to_be_disabled()

        model.gate.set()
        await stage.core.until_over(run_id)
        await expect(page.get_by_role("button", name="Remove: Scout")).to_be_enabled()


async def test_a_note_is_posted_and_all_are_cleared(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=f"{VIEW}?tab=board") as page:
        await page.get_by_label("Note", exact=True).fill("Mind the <i>step</i>.")
        await page.get_by_label("For", exact=True).select_option("Scout")
        await page.get_by_role("button", name="Post").click()
        board = page.get_by_role("list", name="Shared notes")
        await expect(board).to_contain_text("Mind the <i>step</i>.")

        await page.get_by_role("button", name="Clear", exact=True).click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Clear").click()
        await expect(board).to_be_hidden()
    assert await stage.core.store.load_shared_entries((await stage.core.open(CHAT)).session) == []


async def test_the_chats_own_switches_go_before_the_settings(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    await stage.agent("Scout")
    async with stage.opened(browser, witness, at=VIEW) as page:
        await choose(page, "Memory", "Off")
        await expect(page.get_by_text("Saved for this chat.")).to_be_visible()
        await page.reload()
        await expect(
            page.get_by_role("radiogroup", name="Memory").get_by_label("Off", exact=True)
        ).to_be_checked()
    record = await stage.core.store.load_session((await stage.core.open(CHAT)).session)
    assert record is not None
    assert (record.memory_enabled, record.board_enabled) == (False, None)


async def test_the_timeline_shows_each_task_as_a_bar_that_leads_to_it(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    run_id = await stage.begin("Scout", "Look around.")
    await stage.core.until_over(run_id)
    async with stage.opened(browser, witness, at=f"{VIEW}?tab=timeline") as page:
        await page.get_by_role("link", name="Look around.").click()

        await expect(page.get_by_role("heading", level=1, name="Scout")).to_be_visible()
        assert page.url.endswith(f"/{run_id}")
