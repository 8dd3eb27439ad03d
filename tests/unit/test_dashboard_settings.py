"""Settings, static agents and the catalog, as requests ask for them and save them."""

import json
from typing import Any

import pytest

from astrbot_plugin_subagents.dashboard_api.testing import a_field
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from support import dashboard

open_page = dashboard.open_page


async def test_settings_are_shown_and_saved(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    page.settings.saved = {"enabled": True, "dashboard.token": {"is_set": True}}

    reply = await page.get("/settings")
    saved = await page.post("/settings/save", values={"enabled": False})

    assert reply["values"] == {"enabled": True, "dashboard": {"token": {"is_set": True}}}
    assert reply["schema"] == [a_field("enabled"), a_field("dashboard.token")]
    assert (reply["problems"], reply["restart_needed"]) == ([], [])
    assert saved["values"]["enabled"] is False


async def test_settings_that_may_not_be_are_refused_by_key(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    page.settings.forbidden = {"max_steps": "It takes a whole number."}

    refused = await page.post_refused("/settings/save", values={"enabled": False, "max_steps": 0})

    assert refused == dashboard.Refused(
        status=400, code="invalid_argument", fields={"max_steps": "It takes a whole number."}
    )
    assert page.settings.saved == {"enabled": True}


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
async def test_settings_that_no_file_or_model_takes_are_refused_by_key(
    open_page: dashboard.OpenPage, text: str
) -> None:
    page = await open_page()

    setting = await page.post_refused(
        "/settings/save", values={"enabled": False, "router_system_prompt": text}
    )
    agents = await page.post_refused(
        "/static_agents/save", items=[{"name": "helper"}, {"name": "other", "tools": [text]}]
    )

    assert (setting.status, setting.code, list(setting.fields)) == (
        400,
        "invalid_argument",
        ["router_system_prompt"],
    )
    assert (agents.status, agents.code, list(agents.fields)) == (
        400,
        "invalid_argument",
        ["items.1.tools"],
    )
    assert (page.settings.saved, page.settings.agents) == ({"enabled": True}, [])


async def test_settings_that_cannot_be_written_are_told(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    page.settings.is_full = True

    refused = await page.post_refused("/static_agents/save", items=[])

    assert (refused.status, refused.code) == (503, "settings_not_saved")


async def test_static_agents_are_shown_and_saved(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    page.catalog.core = [StaticAgentSettings(name="theirs", tools=None)]

    before = await page.get("/static_agents")
    after = await page.post("/static_agents/save", items=[{"name": "helper"}])

    assert before == {
        "items": [],
        "core": [
            {
                "name": "theirs",
                "description": "",
                "system_prompt": "",
                "persona_id": "",
                "tools": None,
                "skills": None,
                "provider_id": "",
                "workdir": "",
                "personas": [],
                "enabled": True,
            }
        ],
        "schema": [a_field("name", type="text", default="")],
        "problems": [],
        "revision": "0",
    }
    assert (after["items"], after["revision"]) == ([{"name": "helper"}], "1")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/settings/save", {"values": {"enabled": False}}),
        ("/static_agents/save", {"items": [{"name": "mine"}]}),
    ],
)
async def test_of_two_that_save_the_same_the_later_is_told(
    path: str, change: dict[str, Any], open_page: dashboard.OpenPage
) -> None:
    page = await open_page()
    seen = (await page.get(path.removesuffix("/save")))["revision"]
    await page.post("/static_agents/save", items=[{"name": "theirs"}], revision=seen)

    refused = await page.post_refused(path, **change, revision=seen)

    assert (refused.status, refused.code) == (409, "settings_changed")
    assert page.settings.saved == {"enabled": True}
    assert page.settings.agents == [{"name": "theirs"}]


async def test_the_catalog_names_what_agents_can_be_made_of(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()

    assert await page.get("/catalog", session="chat") == {
        "tools": [
            {"name": "search", "description": "Searches the web."},
            {"name": "write", "description": "Writes a file."},
        ],
        "skills": ["drawing"],
        "providers": [{"id": "main", "model": "a-model"}],
        "personas": ["pirate"],
        "filters": ["readonly", "full", "none"],
    }


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/static_agents/save", {"items": [{}] * 201}, "items"),
        ("/static_agents/save", {"items": [dict.fromkeys(map(str, range(101)))]}, "items.0"),
        ("/settings/save", {"values": dict.fromkeys(map(str, range(201)))}, "values"),
        ("/settings/save", dict.fromkeys(map(str, range(101))), "body"),
        ("/settings/save", {"values": {"deep": [[[[[[[["x"]]]]]]]]}}, "deep"),
        ("/settings/save", {"values": {"deep": {"a": {"b": [{"c": [{"d": [[1]]}]}]}}}}, "deep"),
    ],
)
async def test_more_than_any_form_sends_is_refused(
    path: str, body: dict[str, Any], field: str, open_page: dashboard.OpenPage
) -> None:
    page = await open_page()

    refused = await page.post_refused(path, **body)

    assert (refused.status, refused.code) == (400, "invalid_argument")
    assert list(refused.fields) == [field]
    assert (page.settings.saved, page.settings.agents) == ({"enabled": True}, [])


async def test_of_many_errors_the_first_are_told(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    body = json.dumps(dict.fromkeys(map(str, range(95)), 1)).encode()

    answer = await page.api.answer("POST", "/settings/save", {}, body, "application/json")

    error = answer.body["error"]
    assert (answer.status, len(error["fields"])) == (400, 50)
    assert error["message"].endswith(" And 91 more.")
