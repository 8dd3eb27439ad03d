"""Copies at work on a real AstrBot: their lists, kinds and hooks, their failures, and /stop."""

import re
import time
from typing import Any

import pytest

from standin.protocol import ChatRequest
from support import sample_plugins
from support.astrbot_host import Bot
from support.box import box
from support.host_agents import admins_only, plugin_config
from support.plugin_events import plugin_events
from support.replies import call, calls, fail, never, say
from support.script import Script, said, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

CHANGING = """
from astrbot.api import FunctionTool
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star

class Look(FunctionTool):
    async def call(self, context, **arguments):
        return "looked"

class Changing(Star):
    async def initialize(self):
        schema = {"type": "object", "properties": {"at": {"type": "string"}}}
        self.context.add_llm_tools(Look(name="look", description="Looks.", parameters=schema))

    @filter.on_using_llm_tool()
    async def using(self, event: AstrMessageEvent, tool, arguments):
        if tool.name == "look":
            for each in event.get_extra("provider_request").func_tool:
                each.description += " CHANGED"
                each.parameters["properties"]["changed"] = {"type": "string"}
"""
"""It changes the tools that it finds at the event of a call."""

BOX = ("list_notes", "save_note")
HOSTILE = (
    "save_note",
    "Save_Note",
    "SAVE_NOTE",
    "save_note ",
    "functions.save_note",
    "default_api.save_note",
    "save-note",
    "list_notes|save_note",
    "multi_tool_use.parallel",
    "task",
    "create_subagent",
    "transfer_to_scout",
    "transfer_to_subagent",
    "future_task",
    "send_message_to_user",
    "astrbot_execute_shell",
)
"""Names that are nothing a copy which may list notes has."""


def one(context: str = "fresh", **more: Any) -> tuple[str, dict[str, Any]]:
    """One task of its own."""
    return "task", {"tasks": [{"task": "Tidy up.", "context": context, **more}]}


def names(request: ChatRequest) -> set[str]:
    """Tools that are listed, without those that the plugin itself gives to sub-agents."""
    return set(request.tool_names()) - {"send_shared_context", "ask_question"}


@pytest.mark.parametrize("context", ["fresh", "fork"])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_copy_cannot_reach_a_tool_by_another_name(
    bot: Bot, model: Script, mode: str, context: str
) -> None:
    await bot.configure(tool_schema_mode=mode)
    model.main(call(*one(context)), say("Done."))
    tries = (("list_notes", {}), *((name, {"task": "Dig."}) for name in HOSTILE))
    model.role("copy", said("Tidy up."), calls(*tries, text="save_note()"), say("Tidied up."))

    async with (
        plugin_config(bot, task={"readonly_extra": ["list_notes"]}),
        box(bot, *BOX) as tools,
    ):
        turn = await bot.say("tidy up")

    _, second = model.requests_of("copy")
    answered = tool_results(second)
    assert tools.ran == ["list_notes"]
    assert (len(answered), answered[0]) == (len(tries), "list_notes is done.")
    assert all(each.startswith("error: ") for each in answered[1:])
    assert turn.answers == ("Done.",)
    assert "Tidied up." in tool_results(model.requests_of("main")[1])[0]


@pytest.mark.parametrize(
    ("tool_filter", "has"),
    [("none", {"save_note"}), ("readonly", set()), ("full", {"save_note"})],
)
async def test_a_fresh_copy_that_inherits_nothing_has_the_extra_tools_of_its_filter(
    bot: Bot, model: Script, tool_filter: str, has: set[str]
) -> None:
    model.main(call(*one(tool_filter=tool_filter)), say("Done."))
    tries = calls(*((name, {}) for name in BOX))
    model.role("copy", said("Tidy up."), tries, say("Tidied up."))
    settings = {"inherit_tools": False, "extra_tools": ["save_note", "missing"]}

    async with plugin_config(bot, task=settings), box(bot, *BOX) as tools:
        await bot.say("tidy up")

    assert names(model.requests_of("copy")[0]) == has
    assert set(tools.ran) == has


@pytest.mark.parametrize(("sender", "ran"), [("alice", []), ("admin", ["save_note"])])
async def test_an_extra_tool_for_admins_is_refused_to_a_members_copy(
    bot: Bot, model: Script, sender: str, ran: list[str]
) -> None:
    model.main(call(*one(tool_filter="none")), say("Done."))
    model.role("copy", said("Tidy up."), call("save_note"), say("Tidied up."))
    settings = {"inherit_tools": False, "extra_tools": ["save_note"]}

    async with (
        plugin_config(bot, task=settings),
        box(bot, *BOX) as tools,
        admins_only("save_note"),
    ):
        await bot.say("tidy up", sender=sender)

    assert tools.ran == ran


async def test_a_simple_copy_answers_once_and_without_tools(bot: Bot, model: Script) -> None:
    model.main(call(*one(agent_type="simple")), say("Done."))
    model.role("copy", said("Tidy up."), say("Tidied up."))

    await bot.say("tidy up")

    (asked,) = model.requests_of("copy")
    assert asked.tools == []
    assert "Answer at once" in asked.last_user_text()


async def test_a_planning_copy_plans_without_tools_and_then_works_with_them(
    bot: Bot, model: Script
) -> None:
    model.main(call(*one(agent_type="plan", tool_filter="none")), say("Done."))
    model.role(
        "copy",
        said("Tidy up."),
        say("1. Save a note."),
        call("save_note"),
        say("The note is saved."),
    )

    async with box(bot, *BOX) as tools:
        await bot.say("tidy up")

    planning, working, reporting = model.requests_of("copy")
    assert [bool(names(each)) for each in (planning, working, reporting)] == [False, True, True]
    assert "write a plan" in planning.last_user_text()
    assert working.messages[: len(planning.messages)] == planning.messages
    assert working.messages[len(planning.messages)]["content"] == "1. Save a note."
    assert "carry out your plan" in working.last_user_text()
    assert tool_results(reporting) == ["save_note is done."]
    assert tools.ran == ["save_note"]
    assert "The note is saved." in tool_results(model.requests_of("main")[1])[0]


async def test_a_reflecting_copy_drafts_criticises_and_improves(bot: Bot, model: Script) -> None:
    model.main(call(*one(agent_type="reflection", tool_filter="none")), say("Done."))
    model.role(
        "copy",
        said("Tidy up."),
        call("list_notes"),
        say("A draft."),
        say("It is thin."),
        call("save_note"),
        say("A thick report."),
    )

    async with box(bot, *BOX) as tools:
        await bot.say("tidy up")

    requests = model.requests_of("copy")
    (reply,) = tool_results(model.requests_of("main")[1])
    assert [bool(names(each)) for each in requests] == [True, True, False, True, True]
    assert "complete draft" in requests[0].last_user_text()
    assert "criticise your draft" in requests[2].last_user_text()
    assert [each["content"] for each in requests[3].messages[-4::2]] == ["A draft.", "It is thin."]
    assert "mend every fault" in requests[3].last_user_text()
    assert tools.ran == ["list_notes", "save_note"]
    assert ("A thick report." in reply, "A draft." in reply) == (True, False)


async def test_other_plugins_see_the_tool_calls_of_each_copy_and_nothing_else_of_it(
    bot: Bot, model: Script
) -> None:
    tasks = [
        {"task": "Do the fresh one.", "tool_filter": "none"},
        {"task": "Do the fork.", "tool_filter": "none", "context": "fork"},
    ]
    model.main(call("list_notes"), call("task", {"tasks": tasks}), say("Done."))
    model.role("fresh", said("Do the fresh one."), call("save_note"), say("Saved."))
    model.role("fork", said("Do the fork."), call("list_notes"), say("Listed."))

    async with box(bot, *BOX) as tools:
        await bot.say("tidy up")

    reply = tool_results(model.requests_of("main")[2])[-1]
    fresh, fork = re.findall(r"^task_id: (\w+)", reply, re.MULTILINE)
    of_copies = [each for each in tools.hooks if each[2] is not None]
    assert [each for each in of_copies if each[2] == fresh] == [
        ("using", "save_note", fresh),
        ("respond", "save_note", fresh),
    ]
    assert [each for each in of_copies if each[2] == fork] == [
        ("using", "list_notes", fork),
        ("respond", "list_notes", fork),
    ]
    assert [each[:2] for each in tools.hooks if each[2] is None] == [
        ("waiting", ""),
        ("request", ""),
        ("begin", ""),
        ("using", "list_notes"),
        ("respond", "list_notes"),
        ("using", "task"),
        ("respond", "task"),
        ("response", ""),
        ("done", ""),
    ]


@pytest.mark.parametrize("context", ["fresh", "fork"])
async def test_what_a_plugin_does_to_the_tools_of_a_copy_stays_with_that_copy(
    bot: Bot, model: Script, context: str
) -> None:
    first = {"task": "Look now.", "context": context, "tool_filter": "none", "id": "first"}
    later = {**first, "task": "Look later.", "id": "later", "depends_on": ["first"]}
    model.main(call("task", {"tasks": [first, later]}), say("Done."), say("Bye."))
    model.role("first", said("Look now."), call("look"), say("Looked."))
    model.role("later", said("Look later."), say("Looked."))

    await bot.plugins.add("test_changing", CHANGING)
    await bot.say("look around")
    await bot.say("bye")
    await bot.plugins.uninstall("test_changing")

    changed, untouched = model.requests_of("first")[1], model.requests_of("later")
    assert "CHANGED" in str(changed.tools)
    others = [*model.requests_of("main"), *untouched]
    assert [each for each in others if "changed" in str(each.tools).lower()] == []


async def test_a_plugin_that_forbids_a_call_stops_that_copy_and_no_other(
    bot: Bot, model: Script
) -> None:
    tasks = [{"task": f"Do {name}.", "tool_filter": "none"} for name in BOX]
    model.main(call("task", {"tasks": tasks}), say("Done."))
    for name in BOX:
        model.role(name, said(f"Do {name}."), call(name), say(f"I did {name}."))

    async with box(bot, *BOX) as tools:
        tools.allows = lambda name: name != "save_note"
        turn = await bot.say("tidy up")

    (reply,) = tool_results(model.requests_of("main")[1])
    assert turn.answer == "Done."
    assert ("I did list_notes." in reply, "I did save_note." in reply) == (True, False)
    assert "1 of 2 tasks completed." in reply


async def test_a_model_that_fails_one_task_leaves_the_others(bot: Bot, model: Script) -> None:
    tasks: list[dict[str, Any]] = [
        *({"id": each, "task": f"Do the {each} one."} for each in ("first", "second", "third")),
        {"id": "last", "task": "Do the last one.", "depends_on": ["second"]},
    ]
    model.main(call("task", {"tasks": tasks}), say("Done."))
    model.role("first", said("Do the first one."), say("One."))
    model.role("second", said("Do the second one."), then=fail(401, "no such key"))
    model.role("third", said("Do the third one."), say("Three."))

    turn = await bot.say("tidy up")

    (reply,) = tool_results(model.requests_of("main")[1])
    assert turn.answer == "Done."
    assert "2 of 4 tasks completed." in reply
    assert reply.index("One.") < reply.index("no such key") < reply.index("Three.")
    assert model.requests_of("last") == []


@pytest.mark.parametrize("streaming", [False, True])
async def test_stop_ends_all_copies_at_once_whatever_they_do(
    bot: Bot, model: Script, streaming: bool
) -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "asks", "task": "Ask for long."},
        {"id": "uses", "task": "Use it for long.", "tool_filter": "none"},
        {"id": "fork", "task": "Judge for long.", "context": "fork"},
        {"id": "waits", "task": "Wait for long.", "depends_on": ["asks"]},
    ]
    model.main(call("task", {"tasks": tasks}))
    model.role("asks", said("Ask for long."), never())
    model.role("uses", said("Use it for long."), call("get_slowly", {"city": "Oslo"}))
    model.role("fork", said("Judge for long."), never())
    await bot.plugins.add("test_slow", sample_plugins.SLOW)

    with plugin_events(bot) as events:
        running = bot.post("tidy up", streaming=streaming)
        await events.first(lambda each: getattr(each, "name", "") == "get_slowly")
        await model.reached("asks")
        await model.reached("fork")
        begun = time.monotonic()
        stopping = bot.post("/stop")
        runs = await events.runs_over(4)
        took = time.monotonic() - begun
        turn = await running.done()
        await stopping.done()
    await bot.plugins.uninstall("test_slow")

    assert turn.stopped
    assert {run.state.value for run in runs} == {"cancelled"}
    assert took < 0.5
