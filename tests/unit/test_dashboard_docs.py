"""What is written about the API, by hand and by machine, is what it does."""

import json
import re
from pathlib import Path
from typing import Any

from astrbot_plugin_subagents.dashboard_api.errors import STATUS
from astrbot_plugin_subagents.dashboard_api.openapi import make_openapi
from astrbot_plugin_subagents.dashboard_api.routes import ROUTES, Route
from support import dashboard

open_page = dashboard.open_page

PAGE = Path(__file__).parents[2] / "docs" / "dashboard-api.md"
SPECIAL = {
    "/openapi": "an OpenAPI document",
    "/events": "a stream of EventRow",
}


def _row(route: Route) -> tuple[str, ...]:
    keys = ", ".join(
        f"`{name}`{'*' if field.is_required() else ''}"
        for name, field in route.asks.model_fields.items()
    )
    name = route.replies.__name__
    replied = SPECIAL.get(route.path, "`{}`" if name == "Reply" else name)
    return (route.method, f"`{route.path}`", keys, replied, route.summary)


def test_the_page_lists_every_path_with_its_keys() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    listed = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in lines
        if re.match(r"\| (GET|POST) ", line)
    ]

    assert listed == [_row(route) for route in ROUTES]


def test_the_page_lists_every_error_of_the_core_under_its_status() -> None:
    text = PAGE.read_text("utf-8")
    rows = dict(re.findall(r"^\| (\d{3}) \| (.*) \|$", text, re.MULTILINE))

    for error, status in STATUS.items():
        assert f"`{error.code}`" in rows[str(status)]


def _refs(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(_refs, node))
    if not isinstance(node, dict):
        return set()
    here = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return here.union(*map(_refs, node.values()))


async def test_the_openapi_document_describes_every_path(open_page: dashboard.OpenPage) -> None:
    page = await open_page()

    document = await page.get("/openapi")

    assert document == json.loads(json.dumps(make_openapi(ROUTES, version="0.1.0")))
    assert document["openapi"] == "3.1.0"
    assert {path: list(item) for path, item in document["paths"].items()} == {
        route.path: [route.method.lower()] for route in ROUTES
    }
    assert _refs(document) <= {
        f"#/components/schemas/{name}" for name in document["components"]["schemas"]
    }
    limit = next(
        each for each in document["paths"]["/runs"]["get"]["parameters"] if each["name"] == "limit"
    )
    assert limit == {
        "name": "limit",
        "in": "query",
        "required": False,
        "schema": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    }


def test_no_reply_has_a_key_that_a_bridge_takes_for_its_own() -> None:
    for route in ROUTES:
        assert "data" not in route.replies.model_fields
