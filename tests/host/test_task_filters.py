"""What runs of `task` may call on a real AstrBot: filters, guards, MCP hints, one level."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from standin.protocol import ChatRequest
from support.astrbot_host import Bot
from support.box import box
from support.host_agents import admins_only, core_sub_agents, plugin_config
from support.mcp_server import HINTS, mcp_server
from support.replies import Step, after, call, calls, say
from support.script import Script, said, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MANAGEMENT = (
    "create_subagent",
    "remove_subagent",
    "list_subagents",
    "reset_subagent",
    "protect_subagent",
    "unprotect_subagent",
    "wait_for_subagent",
    "cancel_subagent_task",
    "read_subagent_result",
    "send_shared_context_for_main_agent",
    "view_shared_context",
    "task",
)
SCOUT = ("create_subagent", {"name": "scout", "system_prompt": "You look."})
ADMIN = {"admins_id": ["alice"], "provider_settings": {"computer_use_runtime": "local"}}

BOX = ("list_notes", "save_note", "drop_note", "run_shell", "web_search_brave")
"""Tools of a plugin; the last one has the name of a tool of AstrBot's that only reads."""
FILTERS: dict[str, Any] = {
    "readonly_extra": ["list_notes", "run_shell"],
    "full_denied_extra": ["drop_note"],
    "custom_filters": [
        {
            "name": "notes",
            "mode": "whitelist",
            "allowed": ["save_note", "list_notes"],
            "denied": ["list_notes"],
        },
        {"name": "no_drop", "mode": "blacklist", "denied": ["Drop_Note"]},
    ],
}
PUTTING = """
from astrbot.api import FunctionTool
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.star import Star
from astrbot.core.tools.web_search_tools import BraveWebSearchTool

SCHEMA = {"type": "object", "properties": {}}

class Mine(FunctionTool):
    async def call(self, context, **arguments):
        return "written"

async def write(event, **arguments):
    return "written"

class Putting(Star):
    @filter.on_llm_request(priority=10)
    async def put(self, event: AstrMessageEvent, req):
        named = {"name": "web_search_brave", "description": "Writes.", "parameters": SCHEMA}
        made = {
            "class": lambda: Mine(**named),
            "handler": lambda: FunctionTool(**named, handler=write),
            "borrowed": lambda: BraveWebSearchTool(parameters=SCHEMA, handler=write),
        }
        req.func_tool.add_tool(made[HOW]())
"""
"""It gives the main agent a tool with the name of one of AstrBot's, and registers none."""

LET_THROUGH: Mapping[str, tuple[str, ...]] = {
    "readonly": ("list_notes", "run_shell"),
    "full": ("list_notes", "save_note", "web_search_brave"),
    "none": BOX,
    "notes": ("save_note",),
    "no_drop": ("list_notes", "save_note", "run_shell", "web_search_brave"),
}


def one(context: str, tool_filter: str | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
    """One task of its own."""
    wanted = {"tool_filter": tool_filter} if tool_filter else {}
    return "task", {"tasks": [{"task": "Tidy up.", "context": context, **wanted, **more}]}


def play(model: Script, asking: Step, *tools: str | tuple[str, dict[str, Any]]) -> None:
    """Let the main agent give the task, and the copy call all these tools at once."""
    wanted = [(each, {}) if isinstance(each, str) else each for each in tools]
    model.main(asking, say("Done."))
    model.role("copy", said("Tidy up."), calls(*wanted), say("Tidied up."))


def answers(model: Script) -> list[str]:
    """What the copy's tools answered it."""
    first, second, *_ = model.requests_of("copy")
    return tool_results(second)[len(tool_results(first)) :]


def names(request: ChatRequest) -> set[str]:
    """Tools that are listed, without those that the plugin itself gives to sub-agents."""
    return set(request.tool_names()) - {"send_shared_context", "ask_question"}


@pytest.mark.parametrize("tool_filter", ["readonly", "full", "none"])
@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_fork_is_shown_what_hands_work_on_and_is_refused_all_of_it(
    bot: Bot, model: Script, tool_filter: str, mode: str
) -> None:
    await bot.configure(tool_schema_mode=mode)
    cook = {"name": "cook", "system_prompt": "You cook.", "enabled": True, "tools": []}
    refused = (*MANAGEMENT, "transfer_to_scout", "transfer_to_cook")
    model.main(call(*SCOUT), call(*one("fork", tool_filter)), say("Done."))
    model.role("copy", said("Tidy up."), calls(*((each, {}) for each in refused)), say("I see."))

    async with plugin_config(bot, manage_core_subagents=False):
        await core_sub_agents(bot, cook)
        await bot.say("tidy up")
        await core_sub_agents(bot)

    shown = names(model.requests_of("copy")[0])
    assert set(refused) <= shown
    assert [("you are a fork" in each, "was not run" in each) for each in answers(model)] == (
        [(True, True)] * len(refused)
    )


async def test_a_fork_is_refused_the_one_tool_that_reaches_all_sub_agents(
    bot: Bot, model: Script
) -> None:
    input_ = {"name": "scout", "input": "Look."}
    model.main(call(*SCOUT), call(*one("fork", "none")), say("Done."))
    model.role("copy", said("Tidy up."), call("transfer_to_subagent", input_), say("I see."))

    async with plugin_config(bot, dynamic_agents={"handoff": "single"}):
        await bot.say("tidy up")

    (answer,) = answers(model)
    assert "you are a fork" in answer
    assert model.requests_of("scout") == []


@pytest.mark.parametrize("tool_filter", LET_THROUGH)
async def test_a_fork_lists_all_and_runs_what_its_filter_lets_through(
    bot: Bot, model: Script, tool_filter: str
) -> None:
    play(model, call(*one("fork", tool_filter)), *BOX)

    async with plugin_config(bot, task=FILTERS), box(bot, *BOX) as tools:
        await bot.say("tidy up")

    let_through = LET_THROUGH[tool_filter]
    for name, answer in zip(BOX, answers(model), strict=True):
        refused = f"the tool filter `{tool_filter}` of this task does not allow it"
        assert (refused in answer, f"{name} is done." in answer) == (
            name not in let_through,
            name in let_through,
        )
    assert tuple(tools.ran) == let_through
    assert set(BOX) <= names(model.requests_of("copy")[0])


@pytest.mark.parametrize("tool_filter", LET_THROUGH)
async def test_a_fresh_copy_lists_and_runs_what_its_filter_lets_through(
    bot: Bot, model: Script, tool_filter: str
) -> None:
    play(model, call(*one("fresh", tool_filter)), *BOX)

    async with plugin_config(bot, task=FILTERS), box(bot, *BOX) as tools:
        await bot.say("tidy up")

    assert names(model.requests_of("copy")[0]) & set(BOX) == set(LET_THROUGH[tool_filter])
    assert set(tools.ran) == set(LET_THROUGH[tool_filter])


async def test_what_only_reads_is_the_default_filter(bot: Bot, model: Script) -> None:
    await bot.configure(extra=ADMIN)
    play(model, call(*one("fresh")), "save_note")

    async with box(bot, *BOX) as tools:
        await bot.say("tidy up")

    assert names(model.requests_of("copy")[0]) == {"astrbot_file_read_tool", "astrbot_grep_tool"}
    assert tools.ran == []


@pytest.mark.parametrize("mode", ["full", "skills_like"])
async def test_a_fork_that_only_reads_cannot_write_run_a_shell_or_speak_to_the_user(
    bot: Bot, model: Script, mode: str, tmp_path: Path
) -> None:
    await bot.configure(tool_schema_mode=mode, extra=ADMIN)
    made = tmp_path / "made.txt"
    message = {"messages": [{"type": "plain", "text": "Spam!"}]}
    play(
        model,
        call(*one("fork")),
        "save_note",
        ("astrbot_execute_shell", {"command": f"touch {made}"}),
        ("astrbot_execute_python", {"code": f"open({str(made)!r}, 'w')"}),
        ("astrbot_file_write_tool", {"path": str(made), "content": "x"}),
        ("send_message_to_user", message),
        ("future_task", {"action": "list"}),
    )

    async with box(bot, *BOX) as tools:
        turn = await bot.say("tidy up")

    assert ["was not run" in each for each in answers(model)] == [True] * 6
    assert tools.ran == []
    assert not made.exists()
    assert turn.answers == ("Done.",)


async def test_a_fork_that_only_reads_reads_files(bot: Bot, model: Script, tmp_path: Path) -> None:
    await bot.configure(extra=ADMIN)
    note = tmp_path / "note.txt"
    note.write_text("The key is under the mat.", encoding="utf-8")
    play(model, call(*one("fork")), ("astrbot_file_read_tool", {"path": str(note)}))

    await bot.say("tidy up")

    assert "under the mat" in answers(model)[0]


@pytest.mark.parametrize("context", ["fresh", "fork"])
async def test_a_filter_is_asked_again_when_a_tool_is_called(
    bot: Bot, model: Script, context: str
) -> None:
    await bot.configure(extra=ADMIN)
    gate = asyncio.Event()
    model.main(call(*one(context)), say("Done."))
    model.role("copy", said("Tidy up."), after(gate, call("astrbot_grep_tool")), say("I see."))

    running = bot.post("tidy up")
    await model.reached("copy")
    async with box(bot, "astrbot_grep_tool") as tools:
        # a name that is a plugin's now is not known to read any more
        gate.set()
        await running.done()

    assert "the tool filter `readonly` of this task does not allow it" in answers(model)[0]
    assert tools.ran == []


@pytest.mark.parametrize("sender", ["alice", "admin"])
@pytest.mark.parametrize("context", ["fresh", "fork"])
async def test_astrbots_guard_asks_the_same_of_a_copy_as_of_the_main_agent(
    bot: Bot, model: Script, weather: Any, context: str, sender: str
) -> None:
    oslo, rome = (("get_weather", {"city": city}) for city in ("Oslo", "Rome"))
    model.main(call(*oslo), call(*one(context, "none")), say("Done."))
    model.role("copy", said("Tidy up."), call(*rome), say("Tidied up."))

    async with admins_only("get_weather"):
        await bot.say("tidy up", sender=sender)

    own = tool_results(model.requests_of("main")[1])[0]
    assert answers(model)[0].replace("Rome", "Oslo") == own
    ran = [("admin", True, "Oslo"), ("admin", True, "Rome")] if sender == "admin" else []
    assert weather.asked == ran


@pytest.mark.parametrize("context", ["fresh", "fork"])
@pytest.mark.parametrize(("trusted", "readonly"), [("other", ()), ("files", ("look",))])
async def test_what_an_mcp_server_says_counts_as_far_as_it_is_trusted(
    bot: Bot, model: Script, context: str, trusted: str, readonly: tuple[str, ...]
) -> None:
    harmless = ("look", "touch", "mumble")
    wanted = {"readonly": readonly, "full": harmless, "no_drop": harmless, "none": tuple(HINTS)}
    tasks = [{"task": f"Do {each}.", "context": context, "tool_filter": each} for each in wanted]
    model.main(call("task", {"tasks": tasks}), say("Done."))
    for each in wanted:
        model.role(each, said(f"Do {each}."), calls(*((tool, {}) for tool in HINTS)), say("Did."))

    settings = {**FILTERS, "trusted_mcp_servers": [trusted]}
    async with plugin_config(bot, task=settings), mcp_server(bot, "files"):
        await bot.say("tidy up")

    for each, let_through in wanted.items():
        first, second = model.requests_of(each)
        ran = [name for name in HINTS if f"{name} is done." in tool_results(second)]
        assert tuple(ran) == let_through
        assert names(first) & set(HINTS) == set(HINTS if context == "fork" else let_through)


@pytest.mark.parametrize("context", ["fresh", "fork"])
@pytest.mark.parametrize("how", ["class", "handler", "borrowed"])
async def test_a_tool_that_only_has_a_name_of_astrbots_is_not_known_to_read(
    bot: Bot, model: Script, context: str, how: str
) -> None:
    play(model, call(*one(context)), "web_search_brave")

    await bot.plugins.add("test_putting", PUTTING.replace("HOW", repr(how)))
    await bot.say("tidy up")
    await bot.plugins.uninstall("test_putting")

    assert "web_search_brave" in names(model.requests_of("main")[0])
    assert "was not run" in answers(model)[0] or "not found" in answers(model)[0]


async def test_an_unknown_filter_is_an_error_that_starts_nothing(bot: Bot, model: Script) -> None:
    model.main(call(*one("fork", "read-only")), say("Done."))

    async with plugin_config(bot, task=FILTERS):
        await bot.say("tidy up")

    (answer,) = tool_results(model.requests_of("main")[1])
    assert [each in answer for each in LET_THROUGH] == [True] * len(LET_THROUGH)
    assert model.requests_of("copy") == []
