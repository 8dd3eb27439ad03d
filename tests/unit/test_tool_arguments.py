"""What a model may send to our tools: schemas it is shown, and what bad arguments come to."""

from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from astrbot_plugin_subagents.manager import DynamicAgentSettings, Settings, Turn
from astrbot_plugin_subagents.manager.testing import FakeHost, Say, says
from astrbot_plugin_subagents.subagent_tools import (
    AnyTool,
    CallContext,
    call_tool,
    management_tools,
    transfer_tool,
)
from support import core

make_core = core.make_core

NAMES = (
    "create_subagent",
    "remove_subagent",
    "list_subagents",
    "reset_subagent",
    "protect_subagent",
    "unprotect_subagent",
    "wait_for_subagent",
    "cancel_subagent_task",
    "read_subagent_result",
    "answer_subagent",
    "send_shared_context_for_main_agent",
    "view_shared_context",
    "task",
)
SPECS = {spec.name: spec for spec in management_tools(Settings())}
SPECS["transfer_to_scout"] = transfer_tool(core.an_agent("scout"))

GOOD: Mapping[str, Mapping[str, object]] = {
    "create_subagent": {
        "name": "writer",
        "system_prompt": "Write.",
        "description": "writes",
        "tools": ["search"],
        "skills": ["typing"],
        "workdir": "",
        "provider_id": "main",
    },
    "remove_subagent": {"name": "scout"},
    "list_subagents": {"include_status": False},
    "reset_subagent": {"name": "scout"},
    "protect_subagent": {"name": "scout"},
    "unprotect_subagent": {"name": "scout"},
    "wait_for_subagent": {
        "subagent_name": ["scout"],
        "task_id": [],
        "mode": "any",
        "timeout": 30,
    },
    "cancel_subagent_task": {"task_id": "nothing"},
    "read_subagent_result": {"task_id": "nothing", "offset": 0, "limit": 10},
    "answer_subagent": {"task_id": "nothing", "answer": "Yes."},
    "send_shared_context_for_main_agent": {
        "context_type": "message",
        "content": "All is well.",
        "target": "scout",
    },
    "view_shared_context": {"limit": 10},
    "task": {
        "tasks": [{"id": "a", "task": "Look.", "tool_filter": "full", "max_steps": 2}],
        "background_task": True,
    },
    "transfer_to_scout": {"input": "Look.", "image_urls": [], "background_task": False},
}
LEFT_OUT = {"cancel_subagent_task": {"subagent_name"}, "task": {"task"}}
"""Parameters that a good call does not name."""

WRONG: tuple[object, ...] = (5, 1.5, True, "", "\ud800", [], [1], {}, {"a": None}, [None])


FIELDS = [(tool, field) for tool, arguments in GOOD.items() for field in arguments]


class FaultyHost(FakeHost):
    """A host that cannot say which tools there are."""

    def tool_names(self, turn: Turn | None) -> frozenset[str]:
        raise RuntimeError("secret")


async def a_core(make_core: core.MakeCore) -> tuple[core.Core, CallContext]:
    it = await make_core(host=FakeHost(says(Say(text="done")), skills=("typing",)))
    turn = await it.turn()
    await it.create("scout", turn)
    manager = await it.open()
    return it, CallContext(manager=manager, turn=turn, seconds_left=lambda: 60)


def test_the_tools_stand_in_one_order_and_making_can_be_switched_off() -> None:
    off = Settings(dynamic_agents=DynamicAgentSettings(enabled=False))

    assert tuple(spec.name for spec in management_tools(Settings())) == NAMES
    assert tuple(spec.name for spec in management_tools(off)) == NAMES[1:]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_schema_is_plain_and_every_parameter_says_what_it_is(spec: AnyTool) -> None:
    schema = spec.parameters

    Draft202012Validator.check_schema(schema)
    assert core.keys_in(schema).isdisjoint({"$defs", "$ref", "anyOf", "allOf", "oneOf", "title"})
    assert "null" not in core.values_in(schema)
    assert None not in core.values_in(schema)
    assert schema["type"] == "object"
    assert set(schema["properties"]) == set(GOOD[spec.name]) | LEFT_OUT.get(spec.name, set())
    assert all(field["description"] and field["type"] for field in schema["properties"].values())


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_what_the_schema_allows_is_accepted(spec: AnyTool) -> None:
    Draft202012Validator(spec.parameters).validate(dict(GOOD[spec.name]))

    spec.arguments.model_validate(dict(GOOD[spec.name]))


@pytest.mark.parametrize(("tool", "field"), FIELDS)
async def test_null_counts_as_left_out(make_core: core.MakeCore, tool: str, field: str) -> None:
    _, context = await a_core(make_core)
    required = field in SPECS[tool].parameters.get("required", ())

    reply = await call_tool(SPECS[tool], context, {**GOOD[tool], field: None})

    assert (f"`{field}` is required" in reply) is required


@pytest.mark.parametrize(("tool", "field"), FIELDS)
async def test_whatever_a_model_sends_the_reply_is_one_text(
    make_core: core.MakeCore, tool: str, field: str
) -> None:
    it, context = await a_core(make_core)
    for value in WRONG:
        before = await core.snapshot(it)

        reply = await call_tool(SPECS[tool], context, {**GOOD[tool], field: value})

        assert isinstance(reply, str)
        assert reply, value
        assert "failed inside" not in reply, value
        reply.encode()
        if "Nothing was changed" in reply:
            assert await core.snapshot(it) == before


@pytest.mark.parametrize("tool", SPECS)
async def test_arguments_that_are_no_object_get_a_text(make_core: core.MakeCore, tool: str) -> None:
    _, context = await a_core(make_core)
    nonsense: list[Any] = [None, [], ["a"], "text", 5, {5: "a"}, {"": ""}]

    replies = [await call_tool(SPECS[tool], context, arguments) for arguments in nonsense]

    assert all(isinstance(reply, str) for reply in replies)
    assert not any("failed inside" in reply for reply in replies)


@pytest.mark.parametrize("tool", SPECS)
async def test_an_unknown_parameter_is_refused_and_the_known_ones_are_named(
    make_core: core.MakeCore, tool: str
) -> None:
    it, context = await a_core(make_core)
    before = await core.snapshot(it)

    reply = await call_tool(SPECS[tool], context, {**GOOD[tool], "naem": "x"})

    assert reply.startswith("Error: `naem` is not a parameter.")
    assert all(field in reply for field in SPECS[tool].parameters["properties"])
    assert ("Did you mean `name`?" in reply) is ("name" in SPECS[tool].parameters["properties"])
    assert await core.snapshot(it) == before


@pytest.mark.parametrize("tool", SPECS)
async def test_a_poll_interval_is_tolerated(make_core: core.MakeCore, tool: str) -> None:
    _, context = await a_core(make_core)

    reply = await call_tool(SPECS[tool], context, {**GOOD[tool], "poll_interval": 5})

    assert "poll_interval" not in reply
    assert "poll_interval" not in SPECS[tool].parameters["properties"]


@pytest.mark.parametrize("seconds", [0, 0.5, -1, 3601, float("inf"), float("nan"), "soon"])
async def test_a_timeout_outside_its_range_is_refused(
    make_core: core.MakeCore, seconds: object
) -> None:
    _, context = await a_core(make_core)

    reply = await call_tool(SPECS["wait_for_subagent"], context, {"timeout": seconds})

    assert reply.startswith("Error: `timeout`")


async def test_one_name_stands_for_a_list_of_one(make_core: core.MakeCore) -> None:
    it, context = await a_core(make_core)
    started = core.task_id(
        await it.call("transfer_to_scout", context.turn, input="Look.", background_task=True)
    )

    by_name = await it.call("wait_for_subagent", context.turn, subagent_name="scout")
    by_id = await it.call("wait_for_subagent", context.turn, task_id=started)

    assert core.task_id(by_name) == core.task_id(by_id) == started


@pytest.mark.parametrize("arguments", [{}, {"task_id": "a", "subagent_name": "scout"}])
async def test_a_cancel_names_either_a_task_or_an_agent(
    make_core: core.MakeCore, arguments: dict[str, Any]
) -> None:
    it, context = await a_core(make_core)

    reply = await it.call("cancel_subagent_task", context.turn, **arguments)

    assert reply.startswith("Error: ")
    assert "either `task_id` or `subagent_name`" in reply


async def test_a_fault_inside_a_tool_becomes_a_text_without_its_words(
    make_core: core.MakeCore, caplog: pytest.LogCaptureFixture
) -> None:
    it = await make_core(host=FaultyHost())
    turn = await it.turn()

    reply = await it.call("create_subagent", turn, name="b", system_prompt="B.")

    assert reply.startswith("Error: `create_subagent` failed inside (RuntimeError).")
    assert "secret" not in reply
    assert "secret" in caplog.text
