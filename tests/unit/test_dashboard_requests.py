"""What is refused before anything is done, and with what; nothing has changed then."""

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.dashboard_api import (
    InvalidSettings,
    SettingsChanged,
    SettingsNotSaved,
)
from astrbot_plugin_subagents.dashboard_api.errors import STATUS, problem_of
from astrbot_plugin_subagents.dashboard_api.routes import ROUTES
from astrbot_plugin_subagents.manager import errors
from support import core, dashboard

open_page = dashboard.open_page

POSTS = [route.path for route in ROUTES if route.method == "POST"]
GETS = [route.path for route in ROUTES if route.method == "GET" and route.path != "/events"]
NEW = {"session": "chat", "name": "painter", "system_prompt": "You paint."}


async def a_page(open_page: dashboard.OpenPage) -> dashboard.Page:
    """A page over a chat in which alice has the agent scout."""
    page = await open_page()
    await page.it.create("scout", await page.it.turn())
    return page


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/sessions", {"limit": "0"}, "limit"),
        ("/sessions", {"limit": "201"}, "limit"),
        ("/sessions", {"limit": "1e2"}, "limit"),
        ("/sessions", {"limit": "1_0"}, "limit"),
        ("/sessions", {"limit": " 5"}, "limit"),
        ("/sessions", {"limit": "٣"}, "limit"),
        ("/sessions", {"limit": ""}, "limit"),
        ("/sessions", {"offset": "-1"}, "offset"),
        ("/sessions", {"offset": "18446744073709551616"}, "offset"),
        ("/sessions", {"offset": "9" * 5000}, "offset"),
        ("/sessions", {"only": "some"}, "only"),
        ("/sessions", {"query": "a\x00b"}, "query"),
        ("/sessions", {"query": "a" * 501}, "query"),
        ("/sessions", {"sort": "name"}, "sort"),
        ("/session", {}, "session"),
        ("/session", {"session": ""}, "session"),
        ("/session", {"session": "chat\x00"}, "session"),
        ("/session", {"session": "\ud800"}, "session"),
        ("/session", {"session": "a" * 2001}, "session"),
        ("/run", {"session": "chat"}, "run_id"),
        ("/runs", {"state": "done"}, "state"),
        ("/runs", {"state": ""}, "state"),
        ("/runs", {"kind": "x"}, "kind"),
        ("/runs", {"since": "yesterday"}, "since"),
        ("/runs", {"since": "2030-01-01T00:00:00"}, "since"),
        ("/runs", {"since": "0"}, "since"),
        ("/transcript", {"session": "chat", "run_id": "x", "limit": "501"}, "limit"),
        ("/usage", {"days": "0"}, "days"),
        ("/usage", {"days": "367"}, "days"),
        ("/overview", {"x": "1"}, "x"),
        ("/openapi", {"x": "1"}, "x"),
    ],
)
async def test_a_query_that_is_not_as_it_should_be_is_refused(
    open_page: dashboard.OpenPage, path: str, query: dict[str, str], field: str
) -> None:
    page = await open_page()

    refused = await page.refused("GET", path, query=query)

    assert (refused.status, refused.code, list(refused.fields)) == (
        400,
        "invalid_argument",
        [field],
    )


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/agents/create", NEW | {"name": 7}, "name"),
        ("/agents/create", NEW | {"name": None}, "name"),
        ("/agents/create", NEW | {"name": ""}, "name"),
        ("/agents/create", NEW | {"tools": "search"}, "tools"),
        ("/agents/create", NEW | {"tools": [1]}, "tools.0"),
        ("/agents/create", NEW | {"tools": None}, "tools"),
        ("/agents/create", NEW | {"protected": "true"}, "protected"),
        ("/agents/create", NEW | {"protected": 1}, "protected"),
        ("/agents/create", NEW | {"system_prompt": "a\x00b"}, "system_prompt"),
        ("/agents/create", NEW | {"system_prompt": "\udfff"}, "system_prompt"),
        ("/agents/create", NEW | {"owner": "root"}, "owner"),
        ("/agents/create", NEW | {"system_prompt": "x" * 100_001}, "system_prompt"),
        ("/agents/create", NEW | {"description": "x" * 2_001}, "description"),
        ("/agents/create", {"session": "chat", "name": "x"}, "system_prompt"),
        ("/agents/edit", {"session": "chat", "name": "scout", "tools": {"a": 1}}, "tools"),
        ("/agents/remove", {"session": ["chat"], "name": "scout"}, "session"),
        ("/board/post", {"session": "chat", "kind": "status", "content": "x"}, "kind"),
        ("/board/post", {"session": "chat", "kind": "system", "content": ""}, "content"),
        ("/board/post", {"session": "chat", "kind": "system", "content": "x" * 20_001}, "content"),
        ("/switches", {"session": "chat", "memory": "off"}, "memory"),
        ("/switches", {"session": "chat", "board": 0}, "board"),
        ("/runs/cancel", {"session": "chat", "run_id": 10**400}, "run_id"),
        ("/settings/save", {"values": []}, "values"),
        ("/settings/save", {}, "values"),
        ("/static_agents/save", {"items": {}}, "items"),
        ("/static_agents/save", {"items": ["x"]}, "items.0"),
    ],
)
async def test_a_body_that_is_not_as_it_should_be_is_refused(
    open_page: dashboard.OpenPage, path: str, body: dict[str, Any], field: str
) -> None:
    page = await a_page(open_page)
    before = await core.snapshot(page.it)

    refused = await page.post_refused(path, **body)

    assert (refused.status, refused.code, list(refused.fields)) == (
        400,
        "invalid_argument",
        [field],
    )
    assert await core.snapshot(page.it) == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        None,
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"text"',
        b'{"values": {"x": NaN}}',
        b'{"values": {"x": Infinity}}',
        b'{"values": {"x": 1e999}}',
        b'{"values": {"x": ' + b"9" * 5000 + b"}}",
        b"[" * 100_000,
    ],
    ids=lambda body: str(body)[:24],
)
async def test_a_body_that_is_no_json_object_is_refused(
    open_page: dashboard.OpenPage, body: bytes | None
) -> None:
    page = await open_page()
    before = dict(page.settings.saved)

    refused = await page.refused("POST", "/settings/save", body=body)

    assert (refused.status, refused.code) == (400, "invalid_argument")
    assert page.settings.saved == before


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "multipart/form-data; a=b"])
async def test_a_body_of_another_type_is_refused(
    open_page: dashboard.OpenPage, content_type: str | None
) -> None:
    page = await open_page()

    refused = await page.refused(
        "POST", "/settings/save", body=b'{"values": {}}', content_type=content_type
    )

    assert (refused.status, refused.code) == (415, "unsupported_media_type")


async def test_a_body_over_one_mebibyte_is_refused(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)
    body = json.dumps(NEW | {"system_prompt": "x" * 1024 * 1024}).encode()

    refused = await page.refused("POST", "/agents/create", body=body)

    assert (refused.status, refused.code) == (413, "too_large")


async def test_a_query_of_a_post_is_refused(open_page: dashboard.OpenPage) -> None:
    page = await open_page()

    refused = await page.refused("POST", "/settings/save", query={"x": "1"}, body=b"{}")

    assert (refused.status, list(refused.fields)) == (400, ["x"])


@pytest.mark.parametrize("path", ["/", "", "/nothing", "/overview/", "//overview", "/../overview"])
async def test_an_unknown_path_is_not_found(open_page: dashboard.OpenPage, path: str) -> None:
    page = await open_page()

    assert (await page.refused("GET", path)).status == 404


async def test_every_path_takes_its_own_method_alone(open_page: dashboard.OpenPage) -> None:
    page = await open_page()

    for method, paths in (("POST", GETS), ("GET", POSTS), ("DELETE", GETS), ("PUT", POSTS)):
        for path in paths:
            refused = await page.refused(method, path, body=b"{}")
            assert (refused.status, refused.code) == (405, "method_not_allowed")


async def test_a_closed_api_answers_nothing(open_page: dashboard.OpenPage) -> None:
    page = await open_page()

    await page.api.close()

    assert (await page.get_refused("/overview")).code == "gone"
    assert (await page.post_refused("/settings/save", values={})).status == 503


async def test_what_nobody_thought_of_is_told_as_such_and_logged(
    open_page: dashboard.OpenPage, caplog: pytest.LogCaptureFixture
) -> None:
    page = await open_page()

    async def broken() -> None:
        raise ZeroDivisionError("secret detail")

    page.it.store.last_event_id = broken  # type: ignore[assignment,method-assign] # a fault in the store
    answer = await page.api.answer("GET", "/overview", {}, None, None)

    assert answer.status == 500
    assert answer.body["error"]["code"] == "internal"
    assert "secret" not in json.dumps(answer.body)
    assert "secret detail" in caplog.text


# ---- errors


def all_errors(root: type[errors.SubAgentError] = errors.SubAgentError) -> list[type[Any]]:
    """Every class of the core's errors."""
    mine = [root] if root.__module__ == errors.__name__ else []
    return mine + [each for below in root.__subclasses__() for each in all_errors(below)]


def test_every_error_of_the_core_has_its_status() -> None:
    assert set(STATUS) == set(all_errors())


def test_an_error_keeps_its_code_and_says_which_key_is_wrong() -> None:
    problem = problem_of(errors.UnknownReference("tool", ["x"], ["y"]))

    assert problem.answer().status == 400
    assert problem.answer().body == {
        "error": {
            "code": "unknown_reference",
            "message": "Unknown tool: x.",
            "fields": {"tools": "Unknown tool: x."},
        }
    }


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidSettings({"a": "b"}), 400, "invalid_argument"),
        (SettingsChanged(), 409, "settings_changed"),
        (SettingsNotSaved("full"), 503, "settings_not_saved"),
        (errors.NotPermitted("It"), 403, "not_permitted"),
        (errors.StoreLocked(str(Path("x"))), 503, "store_locked"),
        (errors.ShuttingDown(), 503, "shutting_down"),
    ],
)
def test_errors_have_the_status_that_fits(error: Any, status: int, code: str) -> None:
    problem = problem_of(error)

    assert (problem.status, problem.code) == (status, code)
