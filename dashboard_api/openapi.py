"""The OpenAPI document, made from the very models that check requests and shape replies."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .replies import Problem
from .replies_pages import SettingField
from .routes import EVENTS, OPENAPI, Route

_REF = "#/components/schemas/{model}"
_JSON = "application/json"

type _Model = tuple[type[BaseModel], Literal["validation", "serialization"]]
_INFO = (
    "What the dashboard of the sub-agents plugin shows and does. Times are ISO 8601 in UTC. All "
    "texts are data: escape them before showing them."
)


def make_openapi(routes: Sequence[Route], *, version: str) -> Mapping[str, Any]:
    """Describe the routes in OpenAPI 3.1.

    Args:
        routes: All of them.
        version: The plugin's.
    """
    models: list[_Model] = [(Problem, "serialization"), (SettingField, "serialization")]
    for route in routes:
        models += [(route.asks, "validation"), (route.replies, "serialization")]
    schemas, shared = models_json_schema([*dict.fromkeys(models)], ref_template=_REF)
    components = shared.get("$defs", {})
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sub-agents dashboard", "version": version, "description": _INFO},
        "paths": {
            route.path: {
                route.method.lower(): _operation(
                    route,
                    asks=_whole(schemas[(route.asks, "validation")], components),
                    replies=schemas[(route.replies, "serialization")],
                    problem=schemas[(Problem, "serialization")],
                )
            }
            for route in routes
        },
        "components": {"schemas": components},
    }


def _operation(
    route: Route, *, asks: dict[str, Any], replies: dict[str, Any], problem: dict[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.path.strip("/").replace("/", "_"),
        "summary": route.summary,
        "responses": {
            "200": {"description": route.summary, "content": _content(route, replies)},
            "default": {
                "description": "It was refused, or did not work.",
                "content": {_JSON: {"schema": problem}},
            },
        },
    }
    if route.method == "GET":
        operation["parameters"] = [
            {"name": name, "in": "query", "required": name in asks.get("required", ()), **said}
            for name, said in _parameters(asks)
        ]
    else:
        body = {"required": True, "content": {_JSON: {"schema": asks}}}
        operation["requestBody"] = body
    return operation


def _content(route: Route, replies: dict[str, Any]) -> dict[str, Any]:
    if route.path == OPENAPI:
        return {_JSON: {"schema": {"type": "object"}}}
    if route.path == EVENTS:
        # each event's data is an `EventRow`
        return {"text/event-stream": {"schema": {"type": "string"}}}
    return {_JSON: {"schema": replies}}


def _parameters(asks: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, schema in asks.get("properties", {}).items():
        # a query knows no null: what is not asked for is left out
        options = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
        if len(options) == 1:
            schema = {key: value for key, value in schema.items() if key != "anyOf"} | options[0]
        schema = {
            key: value
            for key, value in schema.items()
            if key != "title" and not (key == "default" and value in (None, []))
        }
        found.append((name, {"schema": schema}))
    return found


def _whole(schema: dict[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A model's schema itself, where it is only named."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return dict(components[name]) if name else schema
