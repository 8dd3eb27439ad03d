"""The page in the WebUI of a real AstrBot, in its sandbox, from the chat's message to its end."""

import asyncio
import json

import pytest
from playwright.async_api import Browser, expect

from support.astrbot_root import PLUGIN_NAME
from support.axe import barriers
from support.browser import Look, Witness
from support.replies import after, call, calls, say
from support.screenshots import keep
from support.script import Script
from support.webui import WebUi

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "You dig."})
DARK = Look(theme="dark")


async def test_a_task_of_the_chat_is_followed_and_the_chat_changed(
    browser: Browser, webui: WebUi, witness: Witness, model: Script
) -> None:
    gate = asyncio.Event()
    model.main(
        calls(MAKE, ("protect_subagent", {"name": "digger"})),
        call("transfer_to_digger", {"input": "Dig <b>deep</b>."}),
        say("It found a chest."),
    )
    model.child("digger", after(gate, say("A chest <script>window.trapped = 1</script>!")))
    async with webui.plugin_page(browser, witness, DARK) as shown:
        page, frame = shown.page, shown.frame
        chat = await webui.process.new_chat()
        turn = asyncio.create_task(webui.process.say(chat, "dig, please"))
        await model.reached("digger")
        row = frame.get_by_role("listitem").filter(has_text="Dig <b>deep</b>.")
        await expect(row).to_contain_text("Running")
        assert await frame.evaluate("document.documentElement.dataset.theme") == "dark"
        assert await barriers(frame) == []

        await row.get_by_role("link", name="digger").click()
        gate.set()
        assert (await turn).answer == "It found a chest."
        await expect(frame.get_by_role("feed", name="Transcript")).to_contain_text("<script>")
        await keep(page, "webui task", secrets=[webui.token])

        await frame.get_by_role("link", name="To the chat").click()
        await frame.get_by_role("button", name="New sub-agent").click()
        dialog = frame.get_by_role("dialog")
        await dialog.get_by_label("Name", exact=True).fill("painter")
        await dialog.get_by_label("Instructions").fill("You paint.")
        await dialog.get_by_role("button", name="Make it").click()
        await expect(frame.get_by_role("heading", name="painter")).to_be_visible()
        await keep(page, "webui chat", secrets=[webui.token])
        assert await frame.evaluate("window.trapped") is None

    assert witness.hosts_of(PLUGIN_NAME) == {webui.url.removeprefix("http://")}
    assert [url for url in witness.urls if webui.token in url] == []
    assert webui.token not in webui.process.log


async def test_settings_are_saved_in_astrbots_own_file_and_refusals_stand_at_their_fields(
    browser: Browser, webui: WebUi, witness: Witness
) -> None:
    async with webui.plugin_page(browser, witness, Look()) as shown:
        frame = shown.frame
        await frame.get_by_role("link", name="Settings").click()
        field = frame.get_by_label("Most sub-agents per chat")
        await field.fill("-1")
        await frame.get_by_role("button", name="Save").click()
        await expect(field).to_have_attribute("aria-invalid", "true")
        await field.fill("9")
        await frame.get_by_role("button", name="Save").click()
        await expect(frame.get_by_text("Saved. New tasks follow it at once.")).to_be_visible()
        await keep(shown.page, "webui settings", secrets=[webui.token])

    saved = json.loads(webui.config_file.read_text("utf-8-sig"))
    assert saved["dynamic_agents"]["max_dynamic_subagent_count"] == 9


async def test_language_and_theme_are_those_of_the_webui_as_they_change(
    browser: Browser, webui: WebUi, witness: Witness
) -> None:
    async with webui.plugin_page(browser, witness, Look(locale="ru-RU")) as shown:
        await expect(shown.frame.get_by_role("heading", level=1, name="Обзор")).to_be_visible()
        assert await shown.frame.evaluate("document.documentElement.dataset.theme") == "light"
        assert await shown.frame.get_by_label("Язык").count() == 0


async def test_a_plugin_that_is_switched_off_and_on_again_is_told_and_found_again(
    browser: Browser, webui: WebUi, witness: Witness
) -> None:
    async with webui.plugin_page(browser, witness, Look()) as shown:
        frame = shown.frame
        await expect(frame.get_by_text("Live", exact=True)).to_be_visible()
        await webui.switch_plugin(on=False)
        await expect(frame.get_by_text("Connection lost")).to_be_visible()
        await frame.get_by_role("link", name="Chats", exact=True).click()
        await expect(frame.get_by_role("alert")).to_be_visible()
        await keep(shown.page, "webui switched off", secrets=[webui.token])

        await webui.switch_plugin(on=True)
        await frame.get_by_role("button", name="Connect now").click()
        await expect(frame.get_by_text("Live", exact=True)).to_be_visible()
        await frame.get_by_role("button", name="Try again").click()
        await expect(frame.get_by_role("alert")).to_be_hidden()
