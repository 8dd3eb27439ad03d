"""What a tool is, before any platform: name, texts, argument model, handler.

`plugin/` wraps each spec into the platform's own tool class; nothing here knows AstrBot.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ..manager import SubAgentManager, Turn
from ..manager.tasks import ForkContexts, no_fork_context


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """One call of a tool by the main agent."""

    manager: SubAgentManager
    turn: Turn
    seconds_left: Callable[[], float]
    """How long until the host ends the tool call; a tool returns before that."""
    fork_context: ForkContexts = no_fork_context
    """What the main agent's model was sent before this call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec[A: BaseModel]:
    """One tool as the main model sees it."""

    name: str
    description: str
    arguments: type[A]
    handler: Callable[[CallContext, A], Awaitable[str]]
    only_reads: bool = False
    """True: a turn that calls nothing else leaves nothing to be taken up after a restart."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments as a plain JSON schema that every provider takes."""
        return plain_schema(self.arguments)


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A JSON schema without `$defs`, `anyOf` with null, titles and defaults of null."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    plain = _plain(schema, definitions)
    plain.setdefault("properties", {})
    return plain


def _plain(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    node = _resolve(node, definitions)
    result: dict[str, Any] = {}
    for key in ("type", "description", "enum", "minimum", "maximum", "required"):
        if key in node:
            result[key] = node[key]
    if "properties" in node:
        result["properties"] = {
            name: _plain(value, definitions) for name, value in node["properties"].items()
        }
    if "items" in node:
        result["items"] = _plain(node["items"], definitions)
    if node.get("default") is not None and "default" in node:
        result["default"] = node["default"]
    return result


def _resolve(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference, and take the first choice that is not null."""
    if "$ref" in node:
        target = definitions[str(node["$ref"]).rsplit("/", 1)[-1]]
        return {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    if "anyOf" in node:
        choice = next(item for item in node["anyOf"] if item.get("type") != "null")
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        return {**_resolve(choice, definitions), **rest}
    return node
