"""The dashboard's API in AstrBot's WebUI: behind its login, live, and gone with the plugin."""

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from filelock import FileLock

from support.astrbot_host import Bot
from support.astrbot_root import PLUGIN_NAME
from support.replies import call, say
from support.script import Script
from support.webui_inside import WebUiInside, webui_inside

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
LONG = 30.0
"""Seconds after which a test that waits has failed."""


@pytest_asyncio.fixture(loop_scope="session")
async def webui(bot: Bot) -> AsyncIterator[WebUiInside]:
    """Somebody who has signed in."""
    async with webui_inside(bot) as inside:
        yield inside


@pytest.mark.parametrize("path", ["overview", "settings", "events", "openapi", "no_such_thing"])
async def test_who_has_not_signed_in_gets_nothing(bot: Bot, path: str) -> None:
    async with webui_inside(bot, signed_in=False) as stranger:
        read = await stranger.get(path)
        written = await stranger.post("settings/save", {"values": {"max_steps": 1}})

    assert (read.status, written.status) == (401, 401)
    assert bot.plugins.ours.app.settings.current().max_steps == 30


async def test_the_page_gets_what_it_asks_for(bot: Bot, webui: WebUiInside, model: Script) -> None:
    model.main(call(*MAKE), call("protect_subagent", {"name": "digger"}), say("made"))
    await bot.say("make one")

    listed = await webui.get("session", session=bot.umo())

    assert listed.status == 200
    assert [each["name"] for each in listed.body["agents"]] == ["digger"]
    assert "data" not in listed.body


async def test_an_error_reaches_the_page_as_the_one_text_that_the_bridge_lets_through(
    webui: WebUiInside,
) -> None:
    missing = await webui.get("run", session="nowhere:FriendMessage:x", run_id="none")
    unknown = await webui.get("no_such_thing")
    wrong = await webui.post("settings/save", {"values": {"max_steps": 0}})

    assert (missing.status, unknown.status, wrong.status) == (404, 404, 400)
    for asked in (missing, unknown, wrong):
        assert json.loads(asked.body["message"]) == asked.body["error"]
    assert wrong.body["error"]["fields"] == {
        "max_steps": "It takes a whole number of at least 1 and at most 1000000000."
    }


async def test_a_body_of_more_than_a_mebibyte_is_refused(webui: WebUiInside) -> None:
    sent = await webui.post("settings/save", {"values": {"router_system_prompt": "x" * 1_100_000}})

    assert (sent.status, sent.body["error"]["code"]) == (413, "too_large")


async def test_saved_settings_count_without_a_reload_and_stand_in_astrbots_file(
    bot: Bot, webui: WebUiInside, model: Script
) -> None:
    star = bot.plugins.ours
    values = {"dynamic_agents.max_dynamic_subagent_count": 0, "task.enabled": False}
    model.main(call(*MAKE), say("none allowed"))

    saved = await webui.post("settings/save", {"values": values})
    await bot.say("make one")
    in_file, in_page = _file(bot), dict(bot.context.get_registered_star(PLUGIN_NAME).config)
    await bot.plugins.reload(config={})

    requests = model.requests_of("main")
    assert saved.status == 200
    assert saved.body["values"]["dynamic_agents"]["max_dynamic_subagent_count"] == 0
    assert saved.body["restart_needed"] == []
    assert "limit of 0" in str(requests[1].messages[-1])
    assert "task" not in requests[0].tool_names()
    assert in_file["dynamic_agents"]["max_dynamic_subagent_count"] == 0
    assert in_file == in_page
    assert star is not bot.plugins.ours


async def test_nothing_is_saved_when_one_value_does_not_fit(bot: Bot, webui: WebUiInside) -> None:
    before = _file(bot)

    saved = await webui.post("settings/save", {"values": {"max_steps": 3, "idle_timeout": "soon"}})

    assert saved.status == 400
    assert list(saved.body["error"]["fields"]) == ["idle_timeout"]
    assert _file(bot) == before
    assert bot.plugins.ours.app.settings.current().max_steps == 30


async def test_a_file_that_cannot_be_written_is_told_and_changes_nothing(
    bot: Bot, webui: WebUiInside, tmp_path: Path
) -> None:
    config = bot.context.get_registered_star(PLUGIN_NAME).config
    place = config.config_path
    object.__setattr__(config, "config_path", str(tmp_path / "file" / "config.json"))
    (tmp_path / "file").touch()
    try:
        saved = await webui.post("settings/save", {"values": {"max_steps": 3}})
    finally:
        object.__setattr__(config, "config_path", place)

    assert (saved.status, saved.body["error"]["code"]) == (503, "settings_not_saved")
    assert config["max_steps"] == 30
    assert bot.plugins.ours.app.settings.current().max_steps == 30


async def test_secrets_go_in_and_never_come_out(bot: Bot, webui: WebUiInside) -> None:
    secret = "postgresql://me:hunter2@127.0.0.1:1/x"

    saved = await webui.post(
        "settings/save", {"values": {"database_url": secret, "dashboard.token": "hunter2hunter2"}}
    )
    read = await webui.get("settings")
    in_file = _file(bot)
    await bot.plugins.reload(config={})

    assert saved.body["values"]["database_url"] == {"is_set": True}
    assert saved.body["values"]["dashboard"]["token"] == {"is_set": True}
    assert saved.body["restart_needed"] == ["database_url"]
    assert in_file["database_url"] == secret
    assert "hunter2" not in json.dumps([saved.body, read.body])


async def test_static_agents_are_saved_as_astrbots_page_saves_them_and_are_there_at_once(
    bot: Bot, webui: WebUiInside, model: Script
) -> None:
    model.main(say("hello"))

    wrong = await webui.post("static_agents/save", {"items": [{"name": "no good"}]})
    saved = await webui.post("static_agents/save", {"items": [{"name": "poet", "tools": ["*"]}]})
    await bot.say("hello")
    (in_file,) = _file(bot)["static_agents"]
    await bot.plugins.reload(config={})

    assert list(wrong.body["error"]["fields"]) == ["items.0.name"]
    assert saved.status == 200
    assert [each["name"] for each in saved.body["items"]] == ["poet"]
    assert in_file["__template_key"] == "agent"
    assert "transfer_to_poet" in model.requests_of("main")[0].tool_names()


async def test_a_static_agent_that_cannot_be_used_stays_in_astrbots_file(
    bot: Bot, webui: WebUiInside
) -> None:
    broken = {"__template_key": "agent", "name": "sage", "skills": 5, "tols": []}
    await bot.plugins.reload(config={"static_agents": [{"name": "poet"}, broken]})

    shown = (await webui.get("static_agents")).body
    items, revision = list(reversed(shown["items"])), shown["revision"]
    saved = await webui.post("static_agents/save", {"items": items, "revision": revision})
    late = await webui.post("static_agents/save", {"items": [], "revision": revision})
    in_file = _file(bot)["static_agents"]
    await bot.plugins.reload(config={})

    assert [each["name"] for each in saved.body["items"]] == ["sage", "poet"]
    assert {each["key"] for each in saved.body["problems"]} == {"items.0.skills", "items.0.tols"}
    assert (late.status, late.body["error"]["code"]) == (409, "settings_changed")
    assert (in_file[0], in_file[1]["name"]) == (broken, "poet")


async def test_the_catalog_says_what_astrbot_has(
    bot: Bot, webui: WebUiInside, weather: object
) -> None:
    catalog = (await webui.get("catalog", session=bot.umo())).body

    assert [each["id"] for each in catalog["providers"]] == ["scripted"]
    assert "default" in catalog["personas"]
    assert {"readonly", "full", "none"} <= set(catalog["filters"])
    assert any(each["name"] == "get_weather" for each in catalog["tools"])


async def test_events_come_through_astrbot_as_they_happen_and_end_with_the_plugin(
    bot: Bot, webui: WebUiInside, model: Script
) -> None:
    model.main(call(*MAKE), say("made"))
    async with (
        asyncio.timeout(LONG),
        webui.client.get(webui.address("events"), params={"session": bot.umo()}) as response,
    ):
        await bot.say("make one")
        seen = await _until(response, "agent")
        await bot.plugins.reload()
        rest = (await response.content.read()).decode()

    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert bot.umo() in seen
    assert rest.endswith("event: gone\ndata: {}\n\n")


async def test_while_the_store_is_off_the_api_says_so(bot: Bot, webui: WebUiInside) -> None:
    await bot.plugins.disable()
    (lock,) = (bot.root.data / "plugin_data" / PLUGIN_NAME).glob("*.lock")

    with FileLock(lock):
        await bot.plugins.enable()
        read, stream = await webui.get("overview"), await webui.get("events")
    await bot.plugins.reload()
    on = await webui.get("overview")
    bot.errors.clear()

    assert (read.status, read.body["error"]["code"]) == (503, "off")
    assert (stream.status, stream.body["error"]["code"]) == (503, "off")
    assert on.status == 200


async def test_nothing_of_the_api_outlives_the_plugin(bot: Bot, webui: WebUiInside) -> None:
    routes = bot.context.registered_web_apis
    ours = [route for route in routes if PLUGIN_NAME in route[0]]
    app = weakref.ref(bot.plugins.ours.app)

    await bot.plugins.uninstall(PLUGIN_NAME)
    gone = await webui.get("overview")
    left = [route for route in routes if PLUGIN_NAME in route[0]]
    late = await ours[0][1](path="overview")
    gc.collect()
    is_alive = app() is not None
    await bot.plugins.install()

    assert len(ours) == 1
    assert gone.body["status"] == "error"
    assert left == []
    assert late.status_code == 503
    assert not is_alive


def _file(bot: Bot) -> dict[str, Any]:
    """The plugin's configuration as it stands on the disk."""
    path = bot.root.data / "config" / f"{PLUGIN_NAME}_config.json"
    read: dict[str, Any] = json.loads(path.read_text("utf-8-sig"))
    return read


async def _until(response: aiohttp.ClientResponse, kind: str) -> str:
    """Read events until one of a kind has come; return it."""
    while True:
        event = (await response.content.readuntil(b"\n\n")).decode()
        if f"event: {kind}" in event:
            return event
