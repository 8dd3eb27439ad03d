"""Settings and static sub-agents, changed in the forms that are made from their description."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.browser import Witness, without
from support.page_stage import PageStage, staged
from support.screenshots import keep

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

REFUSED = "status of 400"


async def test_a_changed_setting_is_saved_and_counts_at_once(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness, at="settings") as page:
        await page.get_by_label("Most sub-agents per chat").fill("7")
        await page.get_by_role("switch", name="Memory").click()
        unsaved = page.get_by_role("region", name="Unsaved changes")
        await expect(unsaved).to_contain_text("2 changes are not saved")
        await unsaved.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved. New tasks follow it at once.")).to_be_visible()
        await expect(unsaved).to_be_hidden()

    now = stage.settings.current()
    assert (now.dynamic_agents.max_dynamic_subagent_count, now.history_enabled) == (7, False)
    assert stage.config.saved[-1]["dynamic_agents"]["max_dynamic_subagent_count"] == 7


async def test_a_value_that_does_not_fit_is_told_at_its_field_and_nothing_is_saved(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness, at="settings") as page:
        await page.get_by_label("Most sub-agents per chat").fill("7")
        await page.get_by_label("Model calls per task").fill("-3")
        await page.get_by_role("button", name="Save").click()

        wrong = page.get_by_label("Model calls per task")
        await expect(wrong).to_have_attribute("aria-invalid", "true")
        await expect(wrong).to_be_focused()
    assert stage.config.saved == []
    assert without(witness.complaints, REFUSED) == []


async def test_who_leaves_with_unsaved_changes_is_asked(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    async with stage.opened(browser, witness, at="settings") as page:
        field = page.get_by_label("Most sub-agents per chat")
        await field.fill("7")
        await page.get_by_role("link", name="Overview").click()
        question = page.get_by_role("alertdialog", name="Leave without saving?")
        await question.get_by_role("button", name="Cancel").click()
        await expect(field).to_have_value("7")

        await page.get_by_role("link", name="Overview").click()
        await question.get_by_role("button", name="Leave").click()
        await expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
    assert stage.config.saved == []


async def test_a_secret_is_replaced_without_being_shown(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.config["dashboard"] = {"token": "the old secret"}
    async with stage.opened(browser, witness, at="settings") as page:
        assert "the old secret" not in await page.content()
        await page.get_by_label("Token", exact=True).fill("the new secret")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved. New tasks follow it at once.")).to_be_visible()
        await keep(page, "settings saved", secrets=["the old secret", "the new secret"])
    assert stage.config.saved[-1]["dashboard"]["token"] == "the new secret"


async def test_a_static_sub_agent_is_made_changed_switched_off_and_removed(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    def kept() -> list[tuple[str, str, bool]]:
        agents = stage.settings.current().static_agents
        return [(each.name, each.description, each.enabled) for each in agents]

    async with stage.opened(browser, witness, at="agents") as page:
        await page.get_by_role("button", name="New sub-agent").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label(re.compile("^Name")).fill("no name at all")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_label(re.compile("^Name"))).to_have_attribute(
            "aria-invalid", "true"
        )
        await dialog.get_by_label(re.compile("^Name")).fill("librarian")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_be_hidden()
        assert kept() == [("librarian", "", True)]

        await page.get_by_role("button", name="Edit").click()
        await dialog.get_by_label("What it is for").fill("Knows <all> books.")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Knows <all> books.")).to_be_visible()
        await page.get_by_role("button", name="Switch off").click()
        await expect(page.get_by_role("button", name="Switch on")).to_be_visible()
        assert kept() == [("librarian", "Knows <all> books.", False)]

        await page.get_by_role("button", name="Remove librarian").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
        await expect(page.get_by_text("None yet")).to_be_visible()
    assert kept() == []
    assert without(witness.complaints, REFUSED) == []


BROKEN = {"name": "sage", "skills": 5, "description": "Knows more.", "tols": []}


async def test_a_static_sub_agent_that_cannot_be_used_is_shown_kept_and_mended(
    browser: Browser, tmp_path: Path, witness: Witness
) -> None:
    config: dict[str, Any] = {"static_agents": [{"name": "poet"}, dict(BROKEN)]}
    async with staged(tmp_path, **config) as stage:
        async with stage.opened(browser, witness, at="agents") as page:
            sage = page.get_by_role("listitem").filter(has_text="sage")
            await expect(sage).to_contain_text("`static_agents[1].skills` takes")
            await expect(sage).to_contain_text("Did you mean `static_agents[1].tools`?")
            await keep(page, "static agents with a broken one")

            await page.get_by_role("button", name="Move sage up").click()
            await expect(page.get_by_role("button", name="Move sage up")).to_be_disabled()
            written = stage.config["static_agents"][0]
            assert {key: written[key] for key in BROKEN} == BROKEN

            await sage.get_by_role("button", name="Edit").click()
            dialog = page.get_by_role("dialog")
            await expect(dialog.get_by_text("Saving this entry leaves that out.")).to_be_visible()
            await dialog.get_by_label("What it is for").fill("Knows all.")
            await dialog.get_by_role("button", name="Save").click()
            await expect(dialog).to_be_hidden()
            await expect(sage.get_by_role("button", name="Switch off")).to_be_visible()
        written = stage.config["static_agents"][0]
        assert (written["skills"], written["description"]) == (["*"], "Knows all.")
        assert not {"tols", "etag"} & set(written)
        agents = stage.settings.current().static_agents
        assert [each.name for each in agents] == ["sage", "poet"]


async def test_who_saves_after_somebody_else_is_told_and_overwrites_nothing(
    browser: Browser, stage: PageStage, witness: Witness
) -> None:
    stage.desk.save_static([{"name": "poet"}])
    async with stage.opened(browser, witness, at="agents") as page:
        await page.get_by_role("button", name="Edit").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("What it is for").fill("Rhymes.")
        stage.desk.save_static([{"name": "sage"}, {"name": "poet"}])
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Somebody else has saved in the meantime.")).to_be_visible()
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_label("What it is for")).to_have_value("Rhymes.")
    assert [each.description for each in stage.settings.current().static_agents] == ["", ""]

    async with stage.opened(browser, witness, at="settings") as page:
        most = page.get_by_label("Most sub-agents per chat")
        await most.fill("7")
        stage.desk.save({"history_enabled": False})
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Somebody else has saved in the meantime.")).to_be_visible()
        await expect(page.get_by_role("switch", name="Memory")).not_to_be_checked()
        await expect(most).to_have_value("7")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved. New tasks follow it at once.")).to_be_visible()
    now = stage.settings.current()
    assert (now.dynamic_agents.max_dynamic_subagent_count, now.history_enabled) == (7, False)
    assert without(witness.complaints, "status of 409") == []


async def test_a_tool_filter_with_a_mistyped_key_is_told_and_kept(
    browser: Browser, tmp_path: Path, witness: Witness
) -> None:
    typo = {"name": "safe", "denid": ["shell"]}
    config: dict[str, Any] = {"task": {"custom_filters": [dict(typo), {"name": "mine"}]}}
    async with staged(tmp_path, **config) as stage:
        async with stage.opened(browser, witness, at="settings") as page:
            safe = page.get_by_role("group", name="safe")
            await expect(safe).to_contain_text("Did you mean `task.custom_filters[0].denied`?")
            await page.get_by_role("button", name="Remove mine").click()
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_text("Saved. New tasks follow it at once.")).to_be_visible()
        (written,) = stage.config["task"]["custom_filters"]
        assert {key: written[key] for key in typo} == typo
        assert stage.settings.current().task.custom_filters == ()
